"""Which panels are shown, and where."""

from __future__ import annotations

import pytest

from tfslowtop.ui.widgets.charts.panel_grid import plan
from tfslowtop.ui.widgets.machine.meter_line import meter

FOUR = ["latency", "graph ops", "rss", "retraces"]


@pytest.mark.parametrize(
    ("size", "rows"),
    [
        ((160, 30), [["latency"], ["graph ops", "rss", "retraces"]]),
        ((76, 20), [["latency"], ["graph ops", "rss"]]),
        ((76, 21), [["latency"], ["graph ops"], ["rss", "retraces"]]),
        ((80, 14), [["latency"], ["graph ops", "rss"]]),
        ((60, 9), [["latency"], ["graph ops"]]),
        ((60, 5), [["latency"]]),
        ((60, 1), [["latency"]]),
    ],
)
def test_the_most_telling_are_placed_first(size, rows):
    assert plan(FOUR, *size, "latency") == rows


def test_without_a_lead_two_share_a_row():
    assert plan(["retraces", "latency", "rss"], 80, 7) == [["retraces", "latency"]]
    assert plan(["latency"], 80, 30, "latency") == [["latency"]]
    assert plan([], 80, 30) == []


def test_a_meter_shows_whatever_is_above_zero():
    assert [meter(share, 5) for share in (0.0, 0.01, 0.5, 1.0, 9.0)] == [
        "░░░░░",
        "▓░░░░",
        "▓▓░░░",
        "▓▓▓▓▓",
        "▓▓▓▓▓",
    ]
    assert meter(0.5, 4, ascii=True) == "##.."
