"""Traces by function: which of them a change of the code would avoid."""

from __future__ import annotations

from tfslowtop.agent.protocol.events import Reason, Trace
from tfslowtop.state.retraces import FunctionTraces, Retraces


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


def test_no_advice_about_functions_that_the_user_cannot_change():
    retraces = Retraces()
    reasons = (Reason("", "function-recreated", "", ""),)
    for number in range(3):
        retraces.add(Trace("slice", "structured.py", 230, number, number, 10, reasons, library=True))
        retraces.add(Trace("step", "train.py", 3, number, number, 10, reasons))
    said = retraces.sentences({}, 1.0)
    assert len(said) == 1 and said[0].startswith("step (train.py:3) traced 3 times")
