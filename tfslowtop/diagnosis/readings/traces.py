"""Functions that are traced again and again, and whether an argument or the function itself is at fault."""

from __future__ import annotations

from ...agent.protocol.names import STREAM_FUNCTION
from ..facts import Facts, FunctionFacts, RetraceReason
from ..names import (
    FUNCTION_RECREATED,
    RETRACE_DTYPE,
    RETRACE_OBJECT,
    RETRACE_PYTHON_VALUE,
    RETRACE_STRUCTURE,
)
from .creation import PER_STEP

#: Avoidable traces that make a habit. Training and evaluation, the last smaller batch of each, and one change of
#: settings make four.
LEAST_TRACES = 5
#: A program with a bounded number of shapes or flags traces them early; a habit goes on. This share of the avoidable
#: traces has to come in the second half of the calls.
LATE = 0.25
#: So many traces that take so large a share of the time are reported although they have come to an end.
MANY_TRACES = 20
LARGE_SHARE = 0.25
#: A method traced for this share of its calls belongs to a new object each time.
INSTANCES_PER_CALL = 0.3
#: Objects with traces of their own, and the share of the time those take. A search that trains one model after the
#: other has fewer, and does more with each.
MANY_OBJECTS = 8
NEARLY_ALL = 0.5
#: If tracing takes this share of the time, one new object less makes a habit.
DOMINANT_SHARE = 0.45
#: If fewer than this share of the calls trace, the median call is one that finds its trace.
MOSTLY_CACHED = 0.5
#: An argument that changes this often compared with the one that changes most often always changes with it.
TOGETHER = 0.8
#: Of arguments that change together the first in this order is the reason, and the others follow from it: a Python
#: value often determines the shape of a tensor.
_ORDER = (FUNCTION_RECREATED, RETRACE_OBJECT, RETRACE_STRUCTURE, RETRACE_PYTHON_VALUE, RETRACE_DTYPE)


def changing_argument(facts: Facts, f: FunctionFacts) -> RetraceReason | None:
    """Return the argument that makes a function retrace, or None if nothing or something else does."""
    if has_new_instances(facts, f) or not _is_habit(facts, f):
        return None
    reason = main_reason(f)
    return None if reason.cause == FUNCTION_RECREATED else reason


def is_recreated(facts: Facts, f: FunctionFacts) -> bool:
    """Return whether a function retraces because it, or the object that it belongs to, is created again."""
    return has_new_instances(facts, f) or (_is_habit(facts, f) and main_reason(f).cause == FUNCTION_RECREATED)


def retrace_cost(facts: Facts, f: FunctionFacts) -> tuple[float, bool]:
    """Return what the avoidable traces of a function cost, in seconds, and whether that is only a bound.

    A call that traces also searches for a trace that fits, optimizes the new one and runs it for the first time. What
    it would take without all that is known where most calls find their trace.
    """
    calls = next((c for c in facts.streams_of(STREAM_FUNCTION) if c.site == f.site), None)
    tracing = f.count - f.nested
    if calls is None or tracing <= 0:
        return f.avoidable_seconds, f.jit
    cached = calls.median if tracing < MOSTLY_CACHED * calls.calls else 0.0
    each = (calls.seconds - cached * calls.calls) / tracing
    return max(f.avoidable_seconds, each * f.avoidable), f.jit or not cached


def has_new_instances(facts: Facts, f: FunctionFacts) -> bool:
    """Return whether a method is traced again and again for new objects of its class."""
    if f.instances >= LEAST_TRACES and f.instances >= INSTANCES_PER_CALL * f.calls:
        return True
    # Objects that serve a few calls each: tracing is nearly all that happens, or much of it with one per step.
    least = LARGE_SHARE if f.instances >= PER_STEP * facts.steps else NEARLY_ALL
    return f.instances >= MANY_OBJECTS and facts.share(instance_seconds(f)) >= least


def instance_seconds(f: FunctionFacts) -> float:
    """Return the seconds of tracing for further objects of the same class."""
    return f.seconds * f.instances / max(1, f.count)


def main_reason(f: FunctionFacts) -> RetraceReason:
    """Return the argument that changes most often, or the one that makes it change."""
    often = [reason for reason in f.reasons if reason.count >= TOGETHER * f.reasons[0].count]
    return min(often, key=lambda r: _ORDER.index(r.cause) if r.cause in _ORDER else len(_ORDER))


def package(f: FunctionFacts) -> str:
    """Return the library that a function belongs to, as people call it."""
    _, _, inside = f.file.rpartition("-packages/")
    return "Keras" if inside.startswith(("keras/", "tf_keras/")) else "TensorFlow"


def _is_habit(facts: Facts, f: FunctionFacts) -> bool:
    if not f.reasons:
        return False
    share = facts.share(f.avoidable_seconds)
    # Where each round has a new object, and tracing for it takes as long as the rest of the round, one less will do.
    new_object = main_reason(f).cause in (RETRACE_OBJECT, FUNCTION_RECREATED)
    least = LEAST_TRACES - (new_object and share >= DOMINANT_SHARE)
    goes_on = f.avoidable >= least and f.late >= LATE * f.avoidable
    return goes_on or (f.avoidable >= MANY_TRACES and share >= LARGE_SHARE)
