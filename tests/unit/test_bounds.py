"""Whatever a program does, memory and work in the watcher have bounds, and what is left out is told."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from tfslowtop.agent.protocol.events import (
    SAMPLE,
    Folded,
    Gauge,
    Lost,
    Note,
    Output,
    Phase,
    Reason,
    Samples,
    StepChosen,
    Stream,
    Tally,
    Trace,
)
from tfslowtop.state.retraces import MOST_FUNCTIONS
from tfslowtop.state.session import Session
from tfslowtop.state.shares import Share
from tfslowtop.state.streams import MOST_STREAMS, OTHERS
from tfslowtop.state.view import MAX_OUTPUT

SECOND = 1_000_000_000
BORN = 1_000 * SECOND


def samples(stream: int, first: int, count: int = 3, wall: int = 1_000_000, at: int = BORN) -> Samples:
    return Samples(stream, first, b"".join(SAMPLE.pack(at + i * wall, wall, 0) for i in range(count)))


def streams(n: int) -> Session:
    session = Session()
    session.feed([Phase("running", "", BORN)])
    for number in range(n):
        session.feed([Stream(number, f"f{number}", "function", "f.py", number), samples(number, 0)])
    return session


def test_many_streams_take_little_memory() -> None:
    streams(MOST_STREAMS)  # what is made once is not counted
    tracemalloc.start()
    try:
        session = streams(4_000)
        session.view(BORN + SECOND, 60, 0.5)
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert taken < 5e6  # 10,000 names that are remembered take 4 MB more


def test_the_least_active_are_told_as_one() -> None:
    session = streams(1_000)
    session.feed([Stream(5_000, "hot", "function", "f.py", 1), samples(5_000, 0, 50, SECOND // 100)])
    view = session.view(BORN + SECOND, 60, 0.5)
    assert len(view.streams) <= MOST_STREAMS + 1
    assert sum(row.calls for row in view.streams) == 3 * 1_000 + 50
    assert view.streams[0].name == "other streams" or "hot" in [row.name for row in view.streams[:2]]
    (others,) = [row for row in view.streams if row.id == OTHERS]
    assert others.name == f"{1_001 - (len(view.streams) - 1):,} other streams"
    assert [note for note in view.notes if "streams" in note] == [
        f"More than {MOST_STREAMS} streams: the least active are shown as one."
    ]


def test_a_folded_stream_that_becomes_busy_has_figures_of_its_own_again() -> None:
    session = streams(1_000)
    folded = next(n for n in range(1_000) if n not in session.streams.all)
    session.feed([samples(folded, 3, 5, SECOND // 10)])
    session.feed([samples(folded, 8, 5, SECOND // 10)])
    stats = session.streams.all[folded]
    assert stats.calls == 13 and stats.info.name == f"f{folded}" and stats.first_at == BORN
    total = sum(row.calls for row in session.view(BORN + SECOND, 60, 0.5).streams)
    assert total == 3 * 1_000 + 10


def test_the_step_is_never_folded_and_may_have_been() -> None:
    session = streams(1_000)
    folded = next(n for n in range(1_000) if n not in session.streams.all)
    session.feed([StepChosen(folded, "chosen by the user", BORN)])
    for number in range(2_000, 4_000):
        session.feed([Stream(number, "g", "function", "f.py", 9), samples(number, 0, 9, SECOND // 100)])
    view = session.view(BORN + SECOND, 60, 0.5)
    (step,) = [row for row in view.streams if row.is_step]
    assert step.id == folded == view.step


def test_equal_notes_are_counted() -> None:
    session = Session()
    session.feed([Note("again"), Note("once")] + [Note("again")] * 36)
    assert session.view(BORN, 60, 0.5).notes == ("again (×37)", "once")
    session.feed([Note(f"number {i}") for i in range(100_000)])
    notes = session.view(BORN, 60, 0.5).notes
    assert len(notes) <= 51 and notes[-1] == "number 99999" and "earlier notes" in notes[0]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda i: Gauge(f"g{i}", BORN + i, float(i)), "gauges"),
        (lambda i: Tally("created", f"t{i}", "f.py", i, 1, 1, 1, BORN + i), "counted lines"),
        (
            lambda i: Trace(
                f"f{i}",
                "f.py",
                i,
                1,
                BORN + i,
                1,
                (Reason(f"a{i}", "retrace-shape", f"{i}", f"{i + 1}"),),
                "f.py",
                i,
            ),
            "traced functions",
        ),
        (
            lambda i: Trace(
                "f", "f.py", 1, i, BORN + i, 1, (Reason(f"a{i}", "x", f"{i}", f"{i + 1}"),), f"{i}", i
            ),
            "",
        ),
        (lambda i: Lost(i, 5), ""),
        (lambda i: Stream(i, "f", "data-wait", "f.py", i), "streams"),
        (lambda i: Folded(i % 7, i, 5, BORN, BORN, 0, 0, 0, 0, ()), ""),
        (lambda i: Output("x" * 100), ""),
        (lambda i: Gauge(f"tf.gpu.{i}.peak", BORN, 1.0), ""),
    ],
)
def test_no_flood_of_one_kind_takes_memory_or_is_passed_over_in_silence(make, said) -> None:
    session = Session()
    session.feed([Phase("running", "", BORN)])
    session.view(BORN, 60, 0.5)
    tracemalloc.start()
    try:
        for begin in range(0, 12_000, 3_000):
            session.feed([make(i) for i in range(begin, begin + 3_000)])
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert taken < 25e6
    notes = session.view(BORN + SECOND, 60, 0.5).notes
    assert not said or any(said in note and note.startswith("More than") for note in notes)
    assert len(session.retraces.functions) <= MOST_FUNCTIONS + 1
    assert len(session.output) <= MAX_OUTPUT


def test_calls_that_last_for_hours_are_counted_in_one_pass() -> None:
    share = Share()
    rng = np.random.default_rng(1)
    start = BORN + rng.integers(0, 3_600 * SECOND, 300)
    wall = rng.integers(0, 4 * 3_600 * SECOND, 300)
    share.add(start, wall)
    edges = BORN + np.arange(0, 8 * 3_600 * SECOND, SECOND // 2)
    wanted = [
        np.clip(np.minimum(start + wall, e + SECOND // 2) - np.maximum(start, e), 0, None).sum()
        for e in edges[:500]
    ]
    known = share._percent(edges[:500] // (SECOND // 2), BORN + 9 * 3_600 * SECOND)
    np.testing.assert_allclose(np.nan_to_num(known), 100 * np.array(wanted) / (SECOND // 2), atol=1e-6)


def test_an_hour_of_samples_does_not_grow() -> None:
    session = streams(3)
    session.feed([StepChosen(0, "why", BORN)])
    rng = np.random.default_rng(2)
    first, at, sizes = 3, BORN, []
    tracemalloc.start()
    try:
        for second in range(600):
            wall = rng.integers(1_000_000, 3_000_000, 500)
            starts = at + np.cumsum(wall)
            packed = np.stack([starts, wall, wall], axis=1).astype("<i8").tobytes()
            session.feed([Samples(0, first, packed)])
            first, at = first + 500, int(starts[-1])
            if second % 100 == 99:
                session.view(at, 60, 0.5)
                sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert sizes[-1] < 5e6 and sizes[-1] - sizes[2] < 500_000, sizes
