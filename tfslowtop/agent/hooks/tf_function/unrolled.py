"""Finds what made a trace long: a line of the user's that added its ops hundreds of times."""

from __future__ import annotations

import ast
import functools
import random
from collections import Counter
from typing import Any, NamedTuple

from ...code.ownership import Ownership
from ...code.source_lines import source_lines

#: Ops whose stack is examined; each takes some microseconds.
_SAMPLE = 400
#: The main ops of layers. An optimizer adds its small ops once per weight, which is not a loop of the user's.
_HEAVY = {"MatMul", "Conv2D", "BatchMatMulV2", "Conv1D", "BiasAdd", "Einsum", "LSTMBlockCell"}
_NOT_A_LOOP = ("backprop.py", "gradients_util.py", "optimizer.py")
#: The caller of this one was not traced.
_TRACER = "func_graph.py"
_LOOPS = (ast.For, ast.While, ast.AsyncFor, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)

_Line = tuple[str, int]
_Span = tuple[int, int]


class Unrolled(NamedTuple):
    file: str
    line: int
    times: int
    """Ops of one type that one line added: it ran that often, or half as often if it has two of them."""
    ops: int
    """Ops that the loop or the line added, including those of the functions that it called."""


def unrolled(graph: Any, ownership: Ownership) -> Unrolled | None:
    """Find the loop around the line that ran most often while `graph` was traced, or around its caller.

    Of nested loops in a function it is the outermost, which in most programs is the one over time.
    """
    ops = graph.get_operations()
    # Sampled at random: every tenth op of a loop of ten ops would always be the same one.
    picked = random.Random(0).sample(ops, min(_SAMPLE, len(ops)))
    stacks: list[tuple[_Line, ...]] = []
    types: Counter[tuple[_Line, str]] = Counter()
    for op in picked:
        own, above = _stack(op, ownership)
        if not own or op.type == "Const" or any(file.endswith(_NOT_A_LOOP) for file in above):
            continue  # a slice alone has three constants
        if op.type in _HEAVY or not any("keras" in file for file in above):
            stacks.append(own)
            types[own[0], op.type] += 1
    if not types:
        return None
    (line, _), times = types.most_common(1)[0]
    own = next(own for own in stacks if own[0] == line)
    file, _, (first, last) = next(
        ((*place, span) for place in own if (span := _loop_around(*place))), (*line, (line[1], line[1]))
    )
    inside = sum(any(f == file and first <= n <= last for f, n in own) for own in stacks)
    scale = len(ops) / len(picked)
    return Unrolled(file, first, round(times * scale), round(scale * inside))


def _stack(op: Any, ownership: Ownership) -> tuple[tuple[_Line, ...], list[str]]:
    """Return the user's lines that led to an op, innermost first, as far as they were traced; and the library
    files inside them."""
    own: list[_Line] = []
    above: list[str] = []
    for frame in reversed(list(op.traceback)):
        if not ownership.is_library(frame.filename):
            own.append((frame.filename, frame.lineno or 0))
        elif not own:
            above.append(frame.filename)
        elif frame.filename.endswith(_TRACER):
            break
    return tuple(own), above


def _loop_around(file: str, line: int) -> _Span | None:
    """Find the outermost loop around a line, within its function."""
    around = [span for span in _loops(file) if span[0] <= line <= span[1]]
    own = max((function for _, _, function in around), default=0)
    return min(((first, last) for first, last, function in around if function == own), default=None)


@functools.lru_cache(maxsize=16)
def _loops(file: str) -> list[tuple[int, int, int]]:
    """Return first and last line of each loop, and the first line of the function around it."""
    try:
        tree = ast.parse("".join(source_lines(file)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found: list[tuple[int, int, int]] = []
    waiting: list[tuple[ast.AST, int]] = [(tree, 0)]
    while waiting:
        node, function = waiting.pop()
        if isinstance(node, _LOOPS):
            found.append((node.lineno, node.end_lineno or node.lineno, function))
        elif isinstance(node, _FUNCTIONS):
            function = node.lineno
        waiting += [(part, function) for part in ast.iter_child_nodes(node)]
    return found
