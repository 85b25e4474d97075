"""The pump: what it hands over in one piece, and what it shows at once."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from tfslowtop.agent.protocol.events import (
    SAMPLE,
    Ended,
    Event,
    Gauge,
    Phase,
    Samples,
    Stream,
    Tally,
    Toggled,
)
from tfslowtop.run import Lens, Run, join_samples
from tfslowtop.state.session import Session

SECOND = 1_000_000_000


def samples(stream: int, first: int, count: int) -> Samples:
    """A tenth of a second apart."""
    packed = (SAMPLE.pack(SECOND + (first + k) * SECOND // 10, 1_000_000, 0) for k in range(count))
    return Samples(stream, first, b"".join(packed))


def test_samples_that_follow_each_other_become_one_piece():
    gauge = Gauge("g", SECOND, 1.0)
    batch = [samples(1, 0, 3), samples(2, 7, 2), gauge, samples(1, 3, 2), samples(2, 9, 1), samples(1, 9, 1)]
    assert join_samples(batch) == [samples(1, 0, 5), samples(2, 7, 3), gauge, samples(1, 9, 1)]


@pytest.mark.parametrize(
    "event", [Toggled(3, ("a",), SECOND), Tally("compile", "", "", 1, 1, 0, 0, SECOND), Phase("setup", "", 1)]
)
def test_but_not_across_something_that_counts(event):
    batch = [samples(1, 0, 3), event, samples(1, 3, 2)]
    assert join_samples(batch) == batch


def test_a_gauge_belongs_to_the_iteration_that_ran_when_it_was_read():
    session = Session()
    session.feed([Stream(1, "k", "kernel", "a.py", 1), samples(1, 0, 400)])
    # Twenty readings at once, one for every tenth of what ran before: one more for each iteration.
    session.sense(Gauge("rss", SECOND + k * 2 * SECOND, 1e9 + k * 20e6) for k in range(20))
    view = session.view(41 * SECOND, 10, 1.0)
    panel = view.panel("rss")
    assert panel is not None and panel.trend is not None
    assert panel.trend.slope == pytest.approx(1e6, rel=0.01)


def test_readings_from_before_a_toggle_do_not_count_for_what_came_after():
    session = Session()
    session.feed([Stream(1, "k", "kernel", "a.py", 1), Toggled(0, (), SECOND), samples(1, 0, 100)])
    session.feed(
        [
            Toggled(100, ("a",), 11 * SECOND),
            samples(1, 100, 100),
            *(Gauge("size", SECOND + k * SECOND, 100.0 * k if k < 10 else 1000.0) for k in range(20)),
        ]
    )
    index, values = session.gauges._all["size"].points.last(100)
    assert values.tolist() == [1000.0] * 10 and index.min() >= 100


def test_samples_in_one_piece_with_a_toggle_count_for_their_own_side():
    session = Session()
    session.feed([Stream(1, "k", "kernel", "a.py", 1), Toggled(0, (), SECOND), samples(1, 0, 100)])
    session.feed([Toggled(150, ("a",), 16 * SECOND), samples(1, 100, 100)])
    panel = session.view(21 * SECOND, 10, 1.0).panel("latency")
    assert panel is not None and panel.spread is not None and panel.spread.count == 50


class Scripted:
    """Gives one batch after the other, and waits before the last until it is told."""

    pid = None

    def __init__(self, *batches: Sequence[Event]) -> None:
        self.batches = list(batches)
        self.go_on = threading.Event()

    def start(self) -> None: ...
    def close(self) -> None: ...

    def rest(self, seconds: float) -> bool:
        return True

    def events(self, timeout: float) -> Sequence[Event]:
        if not timeout:
            return []
        if len(self.batches) > 1 or self.go_on.wait(timeout):
            return self.batches.pop(0)
        return []


def test_what_somebody_waits_for_is_shown_at_once():
    source = Scripted(
        [Stream(1, "k", "kernel", "a.py", 1), samples(1, 0, 5)],
        [samples(1, 5, 5)],
        [Toggled(10, ("a",), 2 * SECOND), samples(1, 10, 5)],
        [samples(1, 15, 5)],
        [Ended(0, "It ended.", 3 * SECOND)],
    )
    seen: list[tuple[int, tuple[str, ...]]] = []

    def on_view(view):
        seen.append((view.iterations, view.fixes))
        if view.fixes:
            source.go_on.set()

    Run(source, Lens(refresh=1e6), on_view).pump()
    assert seen == [(5, ()), (15, ("a",)), (20, ("a",))]


class Talkative(Scripted):
    """Always has more to say."""

    def events(self, timeout: float) -> Sequence[Event]:
        return [Gauge("g", SECOND, 1.0)]


def test_a_target_that_never_stops_talking_is_shown_all_the_same():
    run = Run(Talkative(), Lens(), lambda view: run.leave())
    thread = threading.Thread(target=run.pump, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
