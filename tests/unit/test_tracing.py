"""What a thread does right now is that thread's own: creating something, tracing a function."""

from __future__ import annotations

import threading
from collections.abc import Callable

from tfslowtop.agent.hooks.context import HookContext
from tfslowtop.agent.hooks.tracing_state import Tracing
from tfslowtop.agent.protocol.channel import MemoryChannel
from tfslowtop.agent.sender import Agent
from tfslowtop.agent.steps.streams import COMMIT, GRADIENT


def in_threads(number: int, work: Callable[[], object]) -> None:
    threads = [threading.Thread(target=work) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)


def context() -> HookContext:
    return HookContext(Agent(MemoryChannel()), "train.py")


def test_eight_threads_that_create_something_at_once_create_eight():
    told: list[int] = []
    together = threading.Barrier(8, timeout=60)
    create = context().reported("model", lambda frame, args, wall: told.append(wall))(together.wait)
    in_threads(8, create)
    assert len(told) == 8


def test_what_is_created_on_the_way_to_another_is_part_of_that_one():
    told: list[int] = []
    wrap = context().reported("model", lambda frame, args, wall: told.append(wall))
    inner = wrap(lambda: None)
    wrap(lambda: (inner(), inner()))()
    assert len(told) == 1


def test_only_the_thread_that_traces_is_quiet():
    tracing = Tracing(is_eager=lambda: True)
    tracing.begin()
    seen: list[object] = []
    in_threads(1, lambda: seen.append(tracing.here()))
    assert bool(tracing.any) and tracing.here() is not None and seen == [None]
    tracing.end()
    assert not tracing.any and tracing.here() is None


def test_a_function_does_what_the_functions_that_are_traced_inside_it_do():
    tracing = Tracing(is_eager=lambda: False)
    tracing.begin()
    tracing.begin()
    tracing.note(COMMIT)
    assert tracing.end() == (COMMIT, True)
    tracing.note(GRADIENT)
    assert tracing.end() == (COMMIT | GRADIENT, False)


def test_a_thread_that_builds_the_graph_of_another_ones_trace_belongs_to_it():
    """As the threads of MirroredStrategy do, one for each replica."""
    tracing = Tracing(is_eager=lambda: False)
    tracing.begin()
    ends: list[tuple[int, bool]] = []

    def replica() -> None:
        tracing.note(COMMIT)
        tracing.begin()
        tracing.note(GRADIENT)
        ends.append(tracing.end())

    in_threads(1, replica)
    assert ends == [(GRADIENT, True)]
    assert tracing.end() == (COMMIT | GRADIENT, False)


def test_after_the_hooks_came_off_every_thread_is_quiet_for_good():
    tracing = Tracing(is_eager=lambda: True)
    tracing.begin()
    tracing.stop()
    tracing.end()
    seen: list[object] = []
    in_threads(1, lambda: seen.append(tracing.here()))
    assert bool(tracing.any) and tracing.here() is not None and seen != [None]
