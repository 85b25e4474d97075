"""What a traced function computes: whether it may run twice, and whether two graphs mean the same."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .base import Refused

#: Ops by which a graph does what Python did before: a loop or a branch over a value that was a constant.
_CONTROL_FLOW = {
    *("While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase", "For"),
    *("Range", "Fill", "TensorListReserve", "Assert"),
}
#: Ops that count as stateful and change nothing.
_READS = {"ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VarIsInitializedOp", "Placeholder"}
#: Ops whose seed counts the ops before them, so that another trace draws other numbers.
_RANDOM = ("Random", "TruncatedNormal", "Multinomial", "ParameterizedTruncatedNormal")
#: Results may differ by this much, relatively and in units of the largest value: a constant is folded in
#: double precision, a tensor is not.
TOLERANCE = 1e-5


def is_pure(concrete: Any) -> bool:
    """Whether a call changes nothing, so that it can be repeated."""
    for op in concrete.graph.get_operations():
        if op.type not in _READS and getattr(op.op_def, "is_stateful", True):
            return False
    return True


def check_pure(concrete: Any) -> bool:
    """Whether a call changes nothing; raise `Refused` if another trace draws other random numbers."""
    context = getattr(sys.modules.get("tensorflow.python.eager.context"), "_context", None)
    if getattr(context, "_seed", None) is not None:
        for op in concrete.graph.get_operations():
            if op.type.startswith(_RANDOM):
                raise Refused("A seed is set, and with the fix the function would draw other random numbers.")
    return is_pure(concrete)


def new_control_flow(before: Any, after: Any) -> str:
    """Return a control-flow op that only the graph `after` has; empty if there is none."""
    known = {op.type for op in before.graph.get_operations()}
    return next((op.type for op in after.graph.get_operations() if op.type in _CONTROL_FLOW - known), "")


def output_types(concrete: Any) -> list[tuple[str, str]]:
    return [(str(getattr(t, "shape", "")), str(getattr(t, "dtype", ""))) for t in concrete.outputs]


def are_same(one: Any, other: Any) -> bool:
    """Whether two results are the same: structure, types, and values within the tolerance."""
    tensorflow = sys.modules["tensorflow"]
    tensorflow.nest.assert_same_structure(one, other)
    pairs = zip(tensorflow.nest.flatten(one), tensorflow.nest.flatten(other), strict=True)
    return all(_is_same(a, b) for a, b in pairs)


def _is_same(a: Any, b: Any) -> bool:
    if not hasattr(a, "numpy"):
        return a is b or bool(a == b)
    a, b = a.numpy(), b.numpy()
    numpy = sys.modules["numpy"]
    if getattr(a, "shape", ()) != getattr(b, "shape", ()) or getattr(a, "dtype", 0) != getattr(b, "dtype", 0):
        return False
    if getattr(getattr(a, "dtype", None), "kind", "") not in "fc":
        return bool(numpy.all(a == b))
    largest = float(numpy.nanmax(numpy.abs(a))) if getattr(a, "size", 1) else 0.0
    return bool(numpy.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE * largest, equal_nan=True))


def off_the_tape() -> AbstractContextManager[Any]:
    """Keep a second run out of the program's gradients."""
    record = sys.modules.get("tensorflow.python.eager.record")
    return record.stop_recording() if record is not None else nullcontext()


def ran(error: BaseException) -> bool:
    """Whether the graph ran before the error: then a second call might apply its effects twice."""
    errors = getattr(sys.modules.get("tensorflow"), "errors", None)
    return errors is None or isinstance(error, errors.OpError)
