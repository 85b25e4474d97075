"""Looks at a graph that has just been traced: how much it computes, in which precision, and on whole tables.

The shapes are known at that moment, and looking at an op takes some microseconds, so that only the first
traces of a function are looked at.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from ...code.ownership import Ownership
from ...protocol.names import (
    TALLY_DENSE_ROWS,
    TALLY_GRAPH_WORK,
    TALLY_WIDE,
    WIDE_ARGUMENT,
    WIDE_ARRAY,
    WIDE_LINE,
    WIDE_VARIABLE,
    TallyKind,
)
from ...tallies import Details

#: Ops of a graph that are looked at: a larger one computes enough to be worth its call, and is left alone.
_MOST_OPS = 4_000
#: Traces of each function that are looked at.
MOST_TRACES = 3
#: What an unknown dimension counts as. It is nearly always the batch.
_UNKNOWN_DIMENSION = 256
#: Nanoseconds per element that an op writes and per product that it sums up: several times the usual.
_PER_ELEMENT, _PER_PRODUCT = 2.0, 0.2
#: Ops that take longer than their shapes say, or run other graphs or Python.
_UNKNOWN = (
    "While", "StatelessWhile", "PyFunc", "EagerPyFunc", "Matrix", "Batch", "Svd", "Qr", "Cholesky", "Lu",
    "SelfAdjoint", "Cudnn", "Xla", "MapDefun", "RemoteCall", "ReduceDataset", "Reduce",
)  # fmt: skip
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")
_CONVOLUTIONS = ("Conv", "DepthwiseConv")
_WIDE = ("float64", "complex128")
#: A table has at least this many rows and elements; fewer are updated within a millisecond.
_ROWS, _TABLE = 10_000, 500_000
_NO_WORK = ("ReadVariableOp", "Placeholder", "Identity", "Const")
#: The share of a table's rows that a step may use for it to be worth leaving the others alone.
_FEW_ROWS = 0.2


class Work(NamedTuple):
    """What a graph computes, in nanoseconds that one core needs at most."""

    all: float
    wide: float
    """The part of it in double precision."""


class Found(NamedTuple):
    """A tally about a graph."""

    what: TallyKind
    details: Details
    file: str
    line: int
    times: int
    size: int


class GraphWork:
    def __init__(self, ownership: Ownership) -> None:
        self._ownership = ownership
        self._known: dict[str, Work | None] = {}
        """The work of functions that others may call, by name; None where it is unknown."""

    def look(self, concrete: Any, site: tuple[str, int], name: str, user: tuple[str, int]) -> list[Found]:
        """Look at the graph of a function that is defined at `site`; the user's call of it is at `user`."""
        operations = concrete.graph.get_operations()
        called = concrete.name.decode() if isinstance(concrete.name, bytes) else str(concrete.name)
        work = self._work(operations) if len(operations) <= _MOST_OPS else None
        self._known[called] = work
        if work is None:
            return []
        found = [Found(TALLY_GRAPH_WORK, Details(name), *site, len(operations), round(work.all))]
        if work.wide > work.all / 2:
            found += self._wide_entries(concrete, operations, site, user)
        return found + self._tables(operations, site, user, work.all)

    def _work(self, operations: list[Any]) -> Work | None:
        every = wide = 0.0
        for op in operations:
            if op.type in _CALLS:
                inner = self._known.get(op.get_attr("f").name)
                if inner is None:
                    return None
                every, wide = every + inner.all, wide + inner.wide
                continue
            if op.type.startswith(_UNKNOWN) and op.type != "BatchMatMulV2":
                return None
            spent = _PER_ELEMENT * sum(_elements(out) for out in op.outputs) + _PER_PRODUCT * _products(op)
            every += spent
            if _is_wide(op):
                wide += spent
        return Work(every, wide)

    def _wide_entries(
        self, concrete: Any, operations: list[Any], site: tuple[str, int], user: tuple[str, int]
    ) -> list[Found]:
        """Find where double precision enters a graph: at what is wide although nothing before it is."""
        captured = {inner.name for _, inner in concrete.graph.captures}
        entries: Counter[tuple[str, tuple[str, int]]] = Counter()
        for op in operations:
            if not _is_wide(op) or any(given.dtype.name in _WIDE for given in op.inputs) or op.type in _CALLS:
                continue
            if op.type == "Placeholder":
                kind, line = WIDE_ARRAY if op.outputs[0].name in captured else WIDE_ARGUMENT, user
            else:
                reads = op.type in ("ReadVariableOp", "ResourceGather")
                kind, line = WIDE_VARIABLE if reads else WIDE_LINE, self._line(op, user)
            entries[kind, line] += sum(_elements(out) for out in op.outputs)
        return [
            Found(TALLY_WIDE, Details(kind, module=site[0], function_line=site[1]), *line, 1, size)
            for (kind, line), size in entries.items()
        ]

    def _tables(
        self, operations: list[Any], site: tuple[str, int], user: tuple[str, int], work: float
    ) -> list[Found]:
        """Find tables of which a graph gathers some rows and computes with all."""
        used: Counter[int] = Counter()
        """Elements that are gathered, by the columns of the table."""
        whole: dict[tuple[int, int], list[Any]] = {}
        for op in operations:
            shape = _shape(op.outputs[0]) if op.outputs else ()
            if op.type in ("ResourceGather", "GatherV2"):
                used[shape[-1] if shape else 0] += _elements(op.outputs[0])
            elif len(shape) == 2 and shape[0] >= _ROWS and op.type not in _NO_WORK:
                whole.setdefault((shape[0], shape[1]), []).append(op)
        found = []
        for (rows, columns), ops in whole.items():
            size = rows * columns
            if size < _TABLE or not 0 < used[columns] <= _FEW_ROWS * size:
                continue
            share = min(100, round(100 * _PER_ELEMENT * size * len(ops) / max(work, 1.0)))
            details = Details(f"{rows:,} × {columns:,}", module=site[0], function_line=site[1])
            found.append(Found(TALLY_DENSE_ROWS, details, *self._line(ops[0], user), len(ops), share))
        return found

    def _line(self, op: Any, user: tuple[str, int]) -> tuple[str, int]:
        """Return the user's innermost line that made an op, or else the one that called the function."""
        for frame in reversed(list(op.traceback)):
            if not self._ownership.is_library(frame.filename):
                return frame.filename, frame.lineno or 0
        return user


def _is_wide(op: Any) -> bool:
    return any(out.dtype.name in _WIDE for out in op.outputs)


def _shape(tensor: Any) -> tuple[int, ...]:
    """Return a shape, with unknown dimensions filled in; empty for a scalar and for an unknown rank."""
    shape = tensor.shape
    return tuple(_UNKNOWN_DIMENSION if n is None else n for n in shape.as_list()) if shape.rank else ()


def _elements(tensor: Any) -> int:
    product = 1
    for n in _shape(tensor):
        product *= n
    return product


def _products(op: Any) -> float:
    """Return how many products an op sums up."""
    if op.type in ("MatMul", "BatchMatMulV2"):
        shape = _shape(op.inputs[0])
        adjoint = op.get_attr("transpose_a" if op.type == "MatMul" else "adj_x")
        return float(_elements(op.outputs[0]) * shape[-2 if adjoint else -1]) if len(shape) > 1 else 0.0
    if op.type.startswith(_CONVOLUTIONS):  # the gradients have as many as the convolution itself
        given = [_elements(tensor) for tensor in op.inputs]
        last = _shape(op.outputs[0])[-1:] or (1,)
        return float(max(_elements(op.outputs[0]), *given)) * max(1.0, min(given) / last[0])
    if op.type == "Einsum":
        return float(max(_elements(tensor) for tensor in op.inputs) * (_shape(op.outputs[0])[-1:] or (1,))[0])
    return 0.0
