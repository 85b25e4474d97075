"""Traces by function: which of them a change of the code would avoid."""

from __future__ import annotations

from tfslowtop.agent.protocol.events import Reason, Trace
from tfslowtop.state.retraces import FunctionTraces


def traced(*traces: tuple[str, ...], nested: bool = False) -> FunctionTraces:
    """A function with these traces, each with its causes; an argument has the name of its cause."""
    function = FunctionTraces("step", "train.py", 3)
    for number, causes in enumerate(traces):
        reasons = tuple(Reason(cause, cause, "1", "2") for cause in causes)
        function.add(Trace("step", "train.py", 3, number, 1000 * number, 10, reasons, nested=nested))
    return function


def test_a_trace_with_two_causes_is_one_that_could_be_avoided():
    assert traced(("first-trace",), ("retrace-shape", "retrace-dtype"), ("retrace-shape",)).avoidable == 2


def test_traces_with_different_causes_add_up():
    found = traced(("retrace-shape",), ("retrace-dtype",), ("new-context",))
    assert found.avoidable == 2 and found.avoidable_seconds == 20e-9


def test_a_trace_inside_another_is_that_ones_doing():
    assert traced(("function-recreated",), ("function-recreated",), nested=True).avoidable == 0


def test_all_are_counted_though_only_the_newest_are_kept():
    found = traced(*[("retrace-shape",)] * 5000)
    assert found.avoidable == 5000 > len(found.newest_avoidable)
