"""The distribution that a detail screen asks for, and how it is drawn."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.ui_source import Script
from tfslowtop.agent.events import SetFixes
from tfslowtop.analysis.series import Histogram as Counts
from tfslowtop.analysis.session import Session
from tfslowtop.analysis.view import Distribution
from tfslowtop.ui.widgets.histogram import Histogram, _ticks


def fed(script: Script, session: Session | None = None) -> Session:
    session = session or Session()
    session.feed(script.events(0))
    return session


def test_only_who_asks_gets_one():
    script = Script(5)
    session = fed(script)
    assert session.view(script.now, 10, 1.0).distribution is None
    assert session.view(script.now, 10, 1.0, "retraces").distribution is None
    assert session.view(script.now, 10, 1.0, "nonsense").distribution is None


def test_latency_is_of_what_came_since_the_toggle():
    script = Script(5)
    session = fed(script)
    spread = session.view(script.now, 10, 1.0, "latency", 8).distribution
    assert spread is not None and spread.count == 100 and spread.unit == "s"
    assert len(spread.histogram.counts) <= 8 and spread.histogram.counts.sum() == 100
    assert 0.009 < spread.p50 <= spread.p95 <= spread.p99 < 0.016
    script.send(SetFixes(("keep_list",)))
    fed(script, session)
    after = session.view(script.now, 10, 1.0, "latency").distribution
    assert after is not None and after.p99 < 0.005


def test_a_gauge_in_bytes():
    script = Script(5)
    spread = fed(script).view(script.now, 10, 1.0, "rss").distribution
    assert spread is not None and spread.unit == "B" and spread.count == 5


def drawn(counts: list[float], low: float, high: float, **quantiles: float) -> list[str]:
    edges = np.exp(np.linspace(math.log(low), math.log(high), len(counts) + 1))
    widget = Histogram()
    spread = Distribution("latency", "s", Counts(edges, np.array(counts), 0.0), int(sum(counts)), **quantiles)
    widget.show(spread, 0.0)
    lines = widget.draw_lines(67, 9)
    return ["".join(text for text, _ in line) for line in lines]


def test_the_tail_of_a_wide_distribution_is_in_sight(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Histogram, "columns", property(lambda self: 60))
    lines = drawn([5.0, 100.0, 20.0, 5.0, 1.0, 1.0], 1e-3, 1.0, p50=4e-3, p95=0.1, p99=0.8)
    assert all(len(line) == 67 for line in lines)
    assert "p50" in lines[0] and "p95" in lines[0] and "p99" in lines[0]
    assert lines[0].index("p50") < lines[0].index("p95") < lines[0].index("p99")
    assert lines[-3].rstrip()[-1] in "▁│┼", "the slowest are one eighth high at least"
    assert "10.0 ms" in lines[-1] and "100 ms" in lines[-1]


@pytest.mark.parametrize(
    ("low", "high", "most"),
    [(0.0036, 0.0044, 4), (1e-6, 10.0, 5), (0.9, 1.1, 3), (1e-3, 1.2e-3, 2), (1e-9, 1e9, 3)],
)
def test_ticks_are_few_and_inside(low: float, high: float, most: int):
    ticks = _ticks(math.log(low), math.log(high), most)
    assert 1 <= len(ticks) <= most + 1
    assert all(math.log(low) - 1e-9 <= tick <= math.log(high) + 1e-9 for tick in ticks)
