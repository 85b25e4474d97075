"""The close look: which line of the user's holds the interpreter, where a look from outside misses it."""

from __future__ import annotations

import json
import sys
import time

import pytest

from tfslowtop.agent.code.ownership import Ownership
from tfslowtop.agent.hooks.profile_burst import OWN, ProfileBurst, Running
from tfslowtop.agent.steps.tracker import Tracker

#: To go through all of them takes longer than a busy machine keeps a program waiting.
NUMBERS = list(range(4_000_000))


def fail(error: BaseException) -> None:
    raise error


def scan() -> bool:
    return -1 in NUMBERS


def turn() -> str:
    text = json.dumps({"a": [1, 2, 3]}, indent=1)
    scan()
    return text


@pytest.fixture
def close():
    look = ProfileBurst(Tracker(Ownership(__file__), fail))
    yield look
    sys.setprofile(None)


def begin(close: ProfileBurst) -> None:
    """It puts itself off at first."""
    began = time.perf_counter()
    while not close.over and getattr(sys.getprofile(), "__self__", None) is not close:
        assert time.perf_counter() < began + 10
        close.begin()


def test_the_line_that_holds_the_interpreter_has_the_time(close):
    begin(close)
    turn()
    assert close.over and sys.getprofile() is None, "it takes itself off"
    by_name: dict[str, int] = {}
    for (code, _, _), wall in close.walls().items():
        by_name[code.co_name] = by_name.get(code.co_name, 0) + wall
    assert max(by_name, key=lambda name: by_name[name]) == "scan"
    busy = {(code.co_name, busy) for code, _, busy in close.walls()}
    assert ("scan", OWN) in busy and ("turn", Running("json", "dumps", "json")) in busy


def test_a_profiler_of_the_programs_own_is_left_alone(close):
    before = sys.getprofile()
    sys.setprofile(lambda *_: None)
    own = sys.getprofile()
    begin(close)
    assert close.over and sys.getprofile() is own and not close.walls()
    sys.setprofile(before)


def test_it_stops_when_the_agent_goes(close):
    begin(close)
    close.stop()
    turn()
    assert close.over and sys.getprofile() is None
