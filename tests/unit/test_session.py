"""The session: events in, a view out; toggles, A/B, gauges, traces, and bounded memory."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from tfslowtop.agent.protocol.events import (
    SAMPLE,
    About,
    Block,
    Ended,
    Failed,
    Folded,
    Gauge,
    Hello,
    Lost,
    Note,
    Output,
    Phase,
    Reason,
    Samples,
    Stream,
    Toggled,
    Trace,
)
from tfslowtop.agent.protocol.names import REASON_FIRST
from tfslowtop.state.session import Session
from tfslowtop.state.verdict import judge, live, pauses
from tfslowtop.state.view import View
from tfslowtop.stats.effect import sentence

SECOND = 1_000_000_000
STREAM = Stream(0, "kernel", "kernel", "f.py", 3)


class Target:
    """A made-up target whose clock is its own."""

    def __init__(self, seed: int = 1) -> None:
        self.session = Session()
        self.now = 100 * SECOND
        self.count = 0
        self._rng = np.random.default_rng(seed)
        self.session.feed(
            [Hello(1, "t", 42, "3.11"), Phase("running", "", self.now), STREAM, Toggled(0, (), self.now)]
        )

    def iterate(self, milliseconds: np.ndarray, cpu_share: float = 0.95, batch: int = 37) -> None:
        walls = milliseconds * 1e6 * np.exp(0.05 * self._rng.standard_normal(len(milliseconds)))
        for first in range(0, len(walls), batch):
            part = walls[first : first + batch].astype(int)
            packed = b""
            for wall in part:
                packed += SAMPLE.pack(self.now, int(wall), int(wall * cpu_share))
                self.now += int(wall)
            self.session.feed([Samples(0, self.count, packed)])
            self.count += len(part)

    def toggle(self, *fixes: str) -> None:
        self.session.feed([Toggled(self.count, fixes, self.now)])

    def view(self) -> View:
        return self.session.view(self.now + SECOND, 60, 0.5)


def test_growth_toggle_flat_is_told_in_one_line():
    target = Target()
    target.iterate(np.linspace(10, 45, 400))
    growing = target.view()
    assert growing.panel("latency").trend.direction == "rising"
    target.toggle("a")
    target.iterate(np.full(3000, 3.0))
    view = target.view()
    (mark,) = view.marks
    assert mark.changed == ("a",) and mark.iteration == 400 and view.fixes == ("a",)
    said = sentence(mark.effect)
    assert "faster" in said and said.endswith("→ flat") and "%/100 it" in said
    assert 10 < mark.effect.ratio < 16
    assert view.panel("latency").median == pytest.approx(0.003, rel=0.05)
    verdict = live(view, (), ("a",))
    assert verdict.outcome == "confirmed" and "rising" in verdict.words


def test_a_toggle_splits_the_very_batch_it_falls_into():
    target = Target()
    target.iterate(np.full(300, 10.0))
    target.session.feed([Toggled(310, ("a",), target.now)])
    target.iterate(np.concatenate([np.full(10, 10.0), np.full(290, 2.0)]), batch=300)
    effect = target.view().marks[0].effect
    assert effect.low < 5.0 < effect.high or effect.ratio == pytest.approx(5.0, rel=0.05)


def test_flat_is_flat_and_two_toggles_have_an_effect_each():
    target = Target()
    target.iterate(np.full(1500, 5.0))
    assert target.view().panel("latency").trend.direction == "flat"
    target.toggle("a")
    target.iterate(np.full(1000, 5.0))
    assert target.view().marks[0].effect.verdict == "no difference shown"
    target.toggle("a", "b")
    target.iterate(np.full(1000, 1.0))
    first, second = target.view().marks
    assert (first.changed, second.changed) == (("a",), ("b",))
    assert second.effect.verdict == "faster"


def ab(target: Target, a: float, b: float, pairs: int = 12) -> None:
    rng = np.random.default_rng(3)
    for _ in range(pairs):
        for arm in rng.permutation(2):
            target.session.feed([Block(target.count, int(arm), (("f",) if arm else ()), target.now)])
            target.iterate(np.full(30, b if arm else a))


def test_an_ab_run_gives_an_effect_and_leaves_the_segments_alone():
    target = Target()
    target.iterate(np.full(600, 8.0))
    ab(target, 8.0, 2.0)
    view = target.view()
    # Of twelve pairs the first is warm-up, and the last is still open.
    assert view.comparison.running and view.comparison.blocks == 10
    assert view.comparison.effect.low < 4.0 < view.comparison.effect.high
    target.session.feed([Block(target.count, -1, (), target.now), Toggled(target.count, (), target.now)])
    target.iterate(np.full(600, 8.0))
    view = target.view()
    assert not view.comparison.running
    assert view.comparison.effect is not None
    assert view.marks == ()
    assert view.segments[-1].latency.level == pytest.approx(0.008, rel=0.05)
    assert live(view, (), ("f",)).outcome == "constant penalty"


def test_a_myth_is_not_reproduced():
    target = Target()
    target.iterate(np.full(1500, 5.0))
    ab(target, 5.0, 5.0)
    assert live(target.view(), (), ("f",)).outcome == "not reproduced"


def test_memory_that_grows_with_the_iterations_is_a_leak():
    target = Target()
    for _ in range(60):
        target.iterate(np.full(20, 10.0))
        target.session.sense(
            [Gauge("rss", target.now, 5e8 + 50_000 * target.count), Gauge("cpu", target.now, 99.0)]
        )
    view = target.view()
    memory = view.panel("rss")
    assert memory.unit == "B" and memory.words.endswith("leak")
    assert memory.trend.slope == pytest.approx(50_000, rel=0.05)
    assert view.panel("cpu") is None and target.session.readings["cpu"] == 99.0
    assert "leak" in live(view, (), ()).words


def test_a_gauge_holds_until_the_next_and_not_for_ever():
    target = Target()
    target.session.feed([Gauge("things", target.now, 7.0)])
    curve = target.session.view(target.now + SECOND, 20, 0.25).panel("things").curve
    assert np.isfinite(curve.mid[-4:]).all()
    curve = target.session.view(target.now + 10 * SECOND, 20, 0.25).panel("things").curve
    assert np.isnan(curve.mid).all()


def traced(number, at, cause="retrace-python-value"):
    return Trace("f", "f.py", 3, number, at, 10_000_000, (Reason("lr", cause, "1", "2"),))


def test_retraces_are_counted_without_first_traces_and_their_curve_holds():
    target = Target()
    start = target.now
    target.session.feed([traced(1, start, REASON_FIRST)])
    panel = target.session.view(start + SECOND, 40, 0.5).panel("retraces")
    assert (panel.now, panel.words) == (0.0, "1 first trace")
    for n in range(5):
        target.session.feed([traced(n + 2, start + n * SECOND)])
    view = target.session.view(start + 8 * SECOND, 40, 0.5)
    panel = view.panel("retraces")
    assert (view.traces, view.trace_seconds, panel.now) == (6, pytest.approx(0.06), 5.0)
    assert panel.curve.mid[-1] == 5.0
    known = panel.curve.mid[np.isfinite(panel.curve.mid)]
    assert (np.diff(known) >= 0).all() and known[0] == 1.0
    later = target.session.view(start + 300 * SECOND, 40, 0.5).panel("retraces")
    assert set(later.curve.mid) == {5.0}


def test_a_curve_of_retraces_never_falls():
    target = Target()
    start = target.now
    for n, second in enumerate((4, 1, 6, 2)):  # threads report when they end
        target.session.feed([traced(n + 2, start + second * SECOND)])
    mid = target.session.view(start + 8 * SECOND, 40, 0.5).panel("retraces").curve.mid
    assert (np.diff(mid[np.isfinite(mid)]) >= 0).all()


def test_memory_is_drawn_from_the_second_step_on():
    target = Target()
    target.session.feed([Gauge("rss", target.now, 3e8)])
    assert not target.session.view(target.now + SECOND, 40, 0.5).panel("rss").has_base
    target.iterate(np.full(100, 10.0))
    target.session.feed([Gauge("rss", target.now, 6e8), Gauge("rss", target.now + SECOND, 6.1e8)])
    panel = target.session.view(target.now + SECOND, 40, 0.5).panel("rss")
    assert (panel.base, panel.now, panel.shown) == (6e8, 6.1e8, pytest.approx(1e7))


def test_folded_samples_count_and_show_their_extremes():
    target = Target()
    target.iterate(np.full(50, 2.0))
    span = (target.now, target.now + SECOND)
    target.session.feed(
        [Folded(0, 50, 900, *span, 10**6, 9 * 10**8, 9 * 10**8, 10**8, (10**6, 10**6, 9 * 10**8))]
    )
    target.session.feed([Lost(0, 12)])
    view = target.session.view(target.now + 2 * SECOND, 40, 0.5)
    assert (view.iterations, view.folded, view.lost) == (950, 900, 12)
    assert np.nanmax(view.panel("latency").curve.hi) == pytest.approx(0.9)


def test_everything_else_is_kept():
    session = Session()
    failed = Failed(3, "f.py", 7, "ValueError: x", "Traceback")
    session.feed([About("2.21", ("CPU:0",)), Note("n"), Output("abc"), failed, Ended(1, "It ended.", 5)])
    view = session.view(SECOND, 10, 0.5)
    assert (view.tensorflow, view.devices, view.notes) == ("2.21", ("CPU:0",), ("n",))
    assert view.failure == failed and view.ended is not None and session.output == "abc"
    assert math.isnan(view.rate)


def test_an_empty_session_has_a_view():
    view = Session().view(SECOND, 10, 0.5)
    assert view.iterations == 0 and view.panel("latency").words in ("", "unclear")
    assert judge(None, None, None).outcome == "measuring"


def test_memory_stays_bounded():
    def size(iterations: int) -> int:
        session = Session()
        session.feed([STREAM])
        packed = SAMPLE.pack(0, 1000, 900)
        for first in range(0, iterations, 5000):
            records = np.frombuffer(packed * 5000, "<i8").reshape(-1, 3).copy()
            records[:, 0] = (first + np.arange(5000)) * 100_000
            session.feed([Samples(0, first, records.tobytes())])
        session.feed([Output("x" * 300_000), *[Note("n")] * 1000])
        return len(pickle.dumps(session))

    assert size(2_000_000) < 1.2 * size(200_000) < 20_000_000


def test_pauses_are_seen():
    wall = np.full(1000, 1.0)
    assert pauses(wall) == 0.0
    wall[::100] = 50.0
    assert pauses(wall) > 0.3
