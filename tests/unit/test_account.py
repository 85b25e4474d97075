"""The account of time: every second has one owner, and the cells add up to the whole."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfslowtop.agent.protocol.events import Folded, Reported, Stream, Tally, Trace
from tfslowtop.agent.safety.prompt_wake import PromptWake
from tfslowtop.state.account import Account
from tfslowtop.state.activities import NAMES, activity_of
from tfslowtop.stats.intervals import Cover, outermost

SECOND = 1_000_000_000
#: Streams by kind.
KINDS = {"function": 0, "session-run": 1, "data-wait": 2, "gc": 3, "python-op": 4}


def account() -> Account:
    made = Account()
    for kind, number in KINDS.items():
        made.announce(Stream(number, kind, kind, "train.py", 10 + number))
    made.add_reported(Reported(1), 1, 0)
    return made


def calls(made: Account, kind: str, *spans: tuple[float, float]) -> None:
    """Calls from one second to another."""
    times = np.array(spans) * SECOND
    made.add(KINDS[kind], times[:, 0].astype(np.int64), (times[:, 1] - times[:, 0]).astype(np.int64))


def seen(made: Account, line: int, seconds: float, package: str = "user", inside: str = "") -> None:
    wall = int(seconds * SECOND)
    made.add_tally(Tally("where", "", "train.py", line, 1, wall, 0, 0, package=package, inside=inside))


def settled(made: Account, until: float, steps: int = 0) -> dict[tuple[str, int], float]:
    """Seconds by activity and line."""
    made.add_reported(Reported(int(until * SECOND)), 1, steps)
    made.finish(1, steps)
    view = made.view(steps)
    assert sum(share for _, share in view.shares) == pytest.approx(1.0)
    assert sum(row.seconds for row in view.rows) == pytest.approx(view.seconds)
    return {(row.activity, row.line): round(row.seconds, 3) for row in view.rows}


def test_what_no_call_covers_is_divided_by_samples():
    made = account()
    calls(made, "function", (1, 3), (4, 5))
    seen(made, 20, 0.3)
    seen(made, 21, 0.1, "numpy")
    assert settled(made, 7) == {("graph", 10): 3.0, ("own", 20): 3.0, ("library", 21): 1.0}


def test_time_without_a_sample_waits_for_the_next_one():
    made = account()
    calls(made, "function", (0, 1))
    made.add_reported(Reported(2 * SECOND), 1, 0)
    made.add_reported(Reported(4 * SECOND), 1, 0)
    assert made.view(0).seconds == pytest.approx(1.0)
    seen(made, 20, 0.1)
    assert settled(made, 5) == {("graph", 10): 1.0, ("own", 20): 4.0}


def test_time_that_no_sample_ever_saw_is_unknown():
    assert settled(account(), 2) == {("unknown", 0): 2.0}


def test_the_whole_call_in_which_a_function_is_traced_is_tracing():
    made = account()
    calls(made, "function", (0, 3), (3, 4))
    made.add_trace(Trace("f", "train.py", 5, 1, SECOND, SECOND, (), "train.py", 30))
    assert settled(made, 4) == {("trace", 30): 3.0, ("graph", 10): 1.0}


def test_a_trace_without_a_call_is_tracing_too():
    made = account()
    made.add_trace(Trace("f", "train.py", 5, 1, SECOND, SECOND, (), "train.py", 30))
    seen(made, 20, 0.1)
    assert settled(made, 3) == {("trace", 30): 1.0, ("own", 20): 2.0}


def test_the_collector_data_and_python_ops_are_taken_out_of_the_call_around_them():
    made = account()
    calls(made, "function", (0, 10))
    calls(made, "gc", (1, 2))
    calls(made, "data-wait", (2, 5), (11, 12))
    calls(made, "python-op", (6, 7), (6.5, 8), (12, 13))
    seen(made, 20, 0.1)
    found = settled(made, 13)
    assert found == {
        ("gc", 13): 1.0, ("data", 12): 4.0, ("python-op", 14): 2.0, ("graph", 10): 4.0, ("own", 20): 2.0
    }  # fmt: skip


def test_calls_inside_calls_count_once():
    made = account()
    calls(made, "session-run", (0, 4))
    calls(made, "function", (1, 2))
    assert settled(made, 4) == {("graph", 11): 4.0}


def test_functions_belong_to_the_lines_that_were_seen_to_call_them():
    made = account()
    calls(made, "function", (0, 4))
    seen(made, 40, 0.3, "tensorflow", "function")
    seen(made, 41, 0.1, "tensorflow", "function")
    assert settled(made, 4) == {("graph", 40): 3.0, ("graph", 41): 1.0}


def test_a_call_in_progress_is_not_given_away():
    made = account()
    seen(made, 20, 0.1)
    made.add_reported(Reported(SECOND), 1, 0)  # a call began then, and goes on
    seen(made, 40, 2.0, "tensorflow", "function")
    made.add_reported(Reported(SECOND), 1, 0)
    calls(made, "function", (1, 9))
    assert settled(made, 9) == {("own", 20): 1.0, ("graph", 40): 8.0}


def test_what_happened_before_the_first_watched_call_is_kept_apart():
    made = Account()
    made.announce(Stream(0, "f", "function", "train.py", 10))
    made.add_reported(Reported(SECOND), 0, 0)
    seen(made, 3, 1.0, "json")
    made.add_reported(Reported(5 * SECOND), 0, 0)
    calls(made, "function", (6, 8))
    made.add_reported(Reported(8 * SECOND), 6 * SECOND, 1)
    made.finish(6 * SECOND, 1)
    view = made.view(1)
    assert (view.seconds, view.before) == (pytest.approx(2.0), pytest.approx(5.0))


def test_a_line_that_takes_longer_and_longer_shows_growth():
    made = account()
    for step in range(1, 41):
        calls(made, "data-wait", (step, step + 0.01 * step))
        made.add_reported(Reported((step + 1) * SECOND), 1, step)
    made.finish(1, 40)
    row = next(row for row in made.view(40).rows if row.activity == "data")
    assert row.growth == pytest.approx(0.2, rel=0.1)


def test_folded_calls_count_with_their_sum():
    made = account()
    made.add_folded(Folded(0, 0, 1000, 0, 4 * SECOND, 1, 1, 3 * SECOND, 0, ()))
    seen(made, 20, 0.1)
    assert settled(made, 4) == {("graph", 10): 3.0, ("own", 20): 1.0}


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20), st.sampled_from(list(KINDS))), max_size=30))
def test_whatever_calls_there_are_the_account_adds_up(spans):
    made = account()
    for start, length, kind in spans:
        calls(made, kind, (start, start + length))
    seen(made, 20, 0.1)
    assert sum(settled(made, 60).values()) == pytest.approx(60.0, abs=0.1)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=20), st.integers(0, 80))
def test_a_cover_counts_every_moment_once(spans, at):
    start = np.array([s for s, _ in spans], np.int64)
    end = np.array([s + n for s, n in spans], np.int64)
    moments = {m for s, n in spans for m in range(s, s + n)}
    cover = Cover(start, end)
    assert cover.length == len(moments)
    assert cover.before(np.array([at]))[0] == sum(m < at for m in moments)
    order = np.argsort(start, kind="stable")
    cut = outermost(start[order], end[order])
    assert (cut[1] - cut[0]).sum() == len(moments)


@pytest.mark.parametrize(
    ("package", "symbol", "inside", "activity"),
    [
        ("user", "", "", "own"),
        ("user", "", "model", "build"),
        ("keras", "fit", "", "framework"),
        ("tensorflow", "matmul", "", "eager"),
        ("tensorflow", "numpy", "", "device"),
        ("numpy", "mean", "", "library"),
        ("queue", "get", "", "wait"),
        ("json", "dump", "", "write"),
        ("h5py", "create_dataset", "save", "write"),
    ],
)
def test_a_sample_says_what_the_thread_does(package, symbol, inside, activity):
    tally = Tally("where", symbol, "a.py", 1, 1, 1, 0, 0, package=package, inside=inside)
    assert activity_of(tally) == activity
    assert activity in NAMES


def test_the_switch_interval_is_short_only_in_our_sleep():
    before, wake = sys.getswitchinterval(), PromptWake()
    try:
        wake.sleeping()
        assert sys.getswitchinterval() == pytest.approx(1e-5)
        wake.awake()
        assert sys.getswitchinterval() == pytest.approx(before)
        wake.sleeping()
        sys.setswitchinterval(0.02)  # the program's own wish
        wake.awake()
        assert sys.getswitchinterval() == pytest.approx(0.02)
    finally:
        sys.setswitchinterval(before)
