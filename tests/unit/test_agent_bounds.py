"""Whatever a program does, what we keep of it in its own memory has bounds."""

from __future__ import annotations

import sys
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tfslowtop.agent import sample_buffer as buffers
from tfslowtop.agent.hooks import context as hook_context
from tfslowtop.agent.hooks.context import HookContext
from tfslowtop.agent.hooks.tf_function.calls import function_stream
from tfslowtop.agent.protocol.channel import MemoryChannel
from tfslowtop.agent.protocol.events import SAMPLE, Gauge, Note, Output, Samples, Stream
from tfslowtop.agent.sender import _PENDING, Agent
from tfslowtop.agent.steps import tracker as track
from tfslowtop.agent.steps.streams import CALL


class Watcher(MemoryChannel):
    """Reads everything, or nothing."""

    def __init__(self) -> None:
        super().__init__(capacity=1 << 30)


@pytest.fixture
def context() -> HookContext:
    return HookContext(Agent(Watcher()), __file__)


def codes(n: int, text: str = "def f(): pass"):
    for i in range(n):
        made: dict = {}
        exec(compile(text, f"<made {i % 10}>", "exec"), made)
        yield made["f"].__code__


def growth(action, rounds: int = 2) -> int:
    """Return the bytes that our own lines keep in later rounds; the first may fill what is bounded."""
    action()
    tracemalloc.start()
    try:
        for _ in range(rounds):
            action()
        # Other threads of the test process allocate, too.
        ours = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, "*/tfslowtop/*")])
        return sum(trace.size for trace in ours.traces)
    finally:
        tracemalloc.stop()


def test_new_functions_share_a_stream_past_a_limit(context):
    def make() -> None:
        for i, code in enumerate(codes(2_000)):
            loop = function_stream(context, f"f{i}", code, None)
            loop.buffer.put((1, 2, 0))
        context.agent.flush()
        context.agent.channel.events.clear()

    assert growth(make) < 500_000  # a stream for each would take megabytes
    assert len(context.functions) <= hook_context.MOST_STREAMS + 5
    assert len(context.by_code) <= hook_context.MOST_STREAMS


def test_calls_past_the_limit_are_counted_and_said(context):
    for i, code in enumerate(codes(1_500)):
        function_stream(context, f"f{i}", code, None).buffer.put((1, 2, 0))
        context.site("predict", "predict", sys._getframe()).buffer.put((1, 2, 0))
    context.agent.flush()
    told = list(context.agent.channel.events)
    assert sum(len(e) for e in told if isinstance(e, Samples)) == 3_000
    assert len([e for e in told if isinstance(e, Stream)]) == hook_context.MOST_STREAMS + 1
    assert len([e for e in told if isinstance(e, Note)]) == 1


def test_new_loops_are_followed_up_to_a_limit(context, monkeypatch):
    monkeypatch.setattr(track, "MOST_LOOPS", 300)
    monkeypatch.setattr(track, "_MANY", 500)
    tracker = context.tracker

    def hooked() -> None:
        iteration = tracker.enter(sys._getframe(), 1)
        if iteration is not None:
            iteration.bits |= CALL

    def run() -> None:
        for i in range(600):
            exec(compile(f"for i in range(4):\n    hooked()\n#{i}", "<made>", "exec"), {"hooked": hooked})

    assert growth(run) < 200_000
    assert len(tracker.loops) == 300 and len(tracker._codes) <= 500
    assert [loop.count for loop in tracker.loops].count(4) > 250


def test_lines_that_are_counted_have_a_limit(context):
    def put() -> None:
        for i in range(12_000):
            context.tallies.put("kept", f"name {i % 12_000} {context.errors}", "f.py", i, i)
            context.tallies.at("created", f"symbol {i}", None, 0, 1, 1)
        context.tallies.changed(1)

    put()
    assert len(context.tallies._totals) <= 2 * 5_000 + 5_001
    context.errors = 1
    assert growth(put) < 300_000


def test_an_event_that_cannot_be_sent_does_not_hold_up_the_others():
    class Strict(Watcher):
        def send(self, event):
            if isinstance(event, Output):
                raise ValueError("too large")
            return super().send(event)

    agent = Agent(Strict())
    agent.emit(Note("one"))
    agent.emit(Output("x"))
    agent.emit(Note("two"))
    for _ in range(3):
        agent.flush()
    told = [e.text for e in agent.channel.events]
    assert told[:2] == ["one", "two"] and "ValueError" in told[2] and len(told) == 3


def test_events_that_were_dropped_are_told():
    agent = Agent(Watcher())
    for i in range(_PENDING + 7):
        agent.emit(Gauge("g", i, 1.0))
    agent.flush()
    told = list(agent.channel.events)
    assert told[0] == Gauge("g", 7, 1.0) and told[-1].text.startswith("7 events were dropped")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 10), st.integers(0, 4)), max_size=30))
def test_a_buffer_gives_every_record_once_or_counts_it_as_lost(monkeypatch, steps):
    monkeypatch.setattr(buffers, "CAPACITY", 8)
    buffer, written, read = buffers.SampleBuffer(), 0, []
    for puts, limit, behind in steps:
        for _ in range(puts):
            buffer.put((written, written + 1, written + 2))
            written += 1
        assert buffer.head == written
        first, packed = buffer.drain(max(buffer.tail, buffer.head - behind), limit)
        records = list(SAMPLE.iter_unpack(packed))
        assert [r[0] for r in records] == list(range(first, first + len(records)))
        read += records
        waiting = sum(range(buffer.tail + 1, written + 1))
        assert buffer.total_wall() == sum(r[1] for r in read) + waiting
    assert [r[0] for r in read] == sorted({r[0] for r in read})
    assert len(read) + buffer.lost == buffer.tail
