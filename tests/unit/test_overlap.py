"""Calls overlap in threads: samples arrive in the order of their ends, with any starts."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from fuzzing import check_numbers
from hypothesis import given, settings
from hypothesis import strategies as st

from tfslowtop.agent.protocol.events import (
    SAMPLE,
    Block,
    Ended,
    Folded,
    Gauge,
    Phase,
    Reason,
    Samples,
    StepChosen,
    Stream,
    Toggled,
    Trace,
)
from tfslowtop.agent.sender import _Fold
from tfslowtop.state.session import Session
from tfslowtop.stats.blocks import Blocks, Stretch
from tfslowtop.stats.effect import before_after
from tfslowtop.stats.trend import trend

SECOND = 1_000_000_000
BORN = 1_000 * SECOND
#: Beyond what any clock says, within what the wire lets through.
HUGE = 2**62 - 1

STARTS = st.one_of(
    st.integers(BORN, BORN + 20 * SECOND),
    st.sampled_from([BORN, BORN + 1, BORN + SECOND]),
    st.integers(0, HUGE),
)
WALLS = st.one_of(st.just(0), st.integers(-5, 10 * SECOND), st.integers(-HUGE, HUGE))
RECORDS = st.lists(st.tuples(STARTS, WALLS, WALLS), max_size=60)


def packed(records: list[tuple[int, int, int]]) -> bytes:
    return b"".join(SAMPLE.pack(*record) for record in records)


def threads(n: int, seed: int = 1, seconds: float = 10.0) -> list[tuple[int, int, int]]:
    """Calls of several threads, in the order of their ends; every other one is long."""
    rng = np.random.default_rng(seed)
    records = []
    for _ in range(n):
        at = float(rng.uniform(0.0, 0.2))
        while at < seconds:
            wall = float(rng.choice([0.001, 0.7]) * rng.uniform(0.9, 1.1))
            records.append((BORN + int(at * SECOND), int(wall * SECOND), int(wall * SECOND / 2)))
            at += wall
    return sorted(records, key=lambda r: r[0] + r[1])


def session_of(batches: list[list[tuple[int, int, int]]], kind: str = "python-op") -> Session:
    session = Session()
    session.feed([Phase("running", "", BORN), Stream(0, "f", kind, "f.py", 3), StepChosen(0, "why", BORN)])
    first = 0
    for batch in batches:
        session.feed([Samples(0, first, packed(batch))])
        first += len(batch)
    return session


@pytest.mark.filterwarnings("error")
@settings(deadline=None, max_examples=150)
@given(st.lists(RECORDS, max_size=4), st.sampled_from(["python-op", "data-wait", "gc", "kernel"]))
def test_any_samples_give_a_view(batches, kind):
    session = session_of(batches, kind)
    check_numbers(session, BORN + 30 * SECOND)
    session.feed([Ended(0, "", BORN + 30 * SECOND)])
    check_numbers(session, BORN + 31 * SECOND)


@pytest.mark.filterwarnings("error")
@settings(deadline=None, max_examples=60)
@given(RECORDS, RECORDS, st.lists(st.tuples(STARTS, st.floats()), max_size=8), st.data())
def test_any_samples_with_toggles_gauges_and_traces_give_a_view(one, two, readings, data):
    session = session_of([one])
    at = data.draw(STARTS)
    session.feed(
        [Toggled(len(one), ("a",), at), Block(len(one) + 1, 0, (), at), Block(len(one) + 2, 1, (), at)]
    )
    session.feed([Samples(0, len(one), packed(two)), *(Gauge("g", *reading) for reading in readings)])
    for start, wall, _ in two[:5]:
        session.feed([Trace("f", "f.py", 3, 1, start, wall, (Reason("x", "retrace-shape", "1", "2"),))])
    fold = _Fold()
    if one:
        fold.add(len(one) + len(two), packed(one))
        session.feed([fold.event(0)])
    check_numbers(session, BORN + 30 * SECOND)


@pytest.mark.filterwarnings("error")
def test_many_overlapping_calls_give_ordered_figures():
    records = threads(3, seconds=40.0)
    session = session_of([records[i : i + 11] for i in range(0, len(records), 11)])
    stats = session.streams.all[0]
    assert stats.first_at == min(r[0] for r in records)
    assert stats.last_at == max(r[0] + r[1] for r in records)
    for some in (stats.blocks.stretch(), stats.blocks.tail()):
        assert (np.diff(some.start) >= 0).all() and (np.diff(some.index) >= 0).all()
    assert (np.diff(session.step.times()) >= 0).all()
    check_numbers(session, BORN + 41 * SECOND)


@settings(deadline=None)
@given(RECORDS.filter(len), RECORDS)
def test_folding_keeps_the_whole_span_in_any_order(one, two):
    fold = _Fold()
    fold.add(0, packed(one))
    if two:
        fold.add(len(one), packed(two))
    event = fold.event(0)
    assert event.start == min(start for start, _, _ in one + two)
    assert event.end == max(start + wall for start, wall, _ in one + two)
    assert event.count == len(one + two) and event.wall_max == max(wall for _, wall, _ in one + two)


def test_a_fold_that_ends_before_it_starts_is_taken_as_a_moment():
    session = session_of([])
    session.feed([Folded(0, 0, 10, BORN + SECOND, BORN, 1, 2, 15, 0, (1, 2))])
    check_numbers(session, BORN + 2 * SECOND)


@pytest.mark.filterwarnings("error")
@settings(deadline=None, max_examples=60)
@given(RECORDS, RECORDS)
def test_trend_and_effect_take_any_order(one, two):
    def stretch(records):
        columns = np.array(records, np.int64).reshape(-1, 3)
        return Stretch(
            np.arange(float(len(columns))), columns[:, 0], columns[:, 1] / 1e9, columns[:, 2] / 1e9
        )

    blocks = Blocks()
    blocks.add(stretch(one))
    trend(stretch(one * 5))
    effect = before_after(blocks, stretch(two))
    assert effect is None or math.isfinite(effect.ratio)


def test_order_does_not_change_what_is_said_of_the_same_calls():
    records = threads(2, seed=3)
    tidy, untidy = session_of([sorted(records)]), session_of([records])
    for session in (tidy, untidy):
        session.streams.recompute_all()
    one, two = tidy.streams.all[0], untidy.streams.all[0]
    assert (one.first_at, one.last_at, one.median, one.p95) == (
        two.first_at,
        two.last_at,
        two.median,
        two.p95,
    )
    assert one.trend == two.trend


def test_steps_in_two_threads_are_watched_to_the_end(tmp_path):
    script = tmp_path / "two.py"
    script.write_text(
        textwrap.dedent(
            """
            import threading, time
            import numpy
            import tfslowtop

            def work(rounds, seconds):
                for _ in range(rounds):
                    with tfslowtop.step():
                        time.sleep(seconds)

            # The long calls begin before a batch does and end as its last: each of several lengths.
            jobs = [(800, 0.001), *((1, 0.25 + 0.02 * i) for i in range(40))]
            threads = [threading.Thread(target=work, args=job) for job in jobs]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            raise SystemExit(7)
            """
        )
    )
    command = [sys.executable, "-m", "tfslowtop", "--headless", "--json", str(tmp_path / "out.json")]
    ran = subprocess.run([*command, "--attach", str(script)], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 7, ran.stderr
    told = json.loads((tmp_path / "out.json").read_text())
    (step,) = [s for s in told["streams"] if s["is_step"]]
    assert step["calls"] == 840 and 0 < step["share"] <= 1
