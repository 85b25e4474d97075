"""What made a trace long: a line of the user's that added its ops hundreds of times."""

from __future__ import annotations

import ast
import functools
import linecache
import random
from collections import Counter
from typing import Any, NamedTuple

from .places import Places

#: Ops of which the stack is looked at; each takes some microseconds.
_SAMPLE = 400
#: What a layer is made for. An optimizer adds its small ops once per weight, which is no loop of the user's.
_HEAVY = {"MatMul", "Conv2D", "BatchMatMulV2", "Conv1D", "BiasAdd", "Einsum", "LSTMBlockCell"}
_NOT_A_LOOP = ("backprop.py", "gradients_util.py", "optimizer.py")
#: Whoever called this one was not traced.
_TRACER = "func_graph.py"
_LOOPS = (ast.For, ast.While, ast.AsyncFor, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

_Line = tuple[str, int]
_Span = tuple[int, int]


class Unrolled(NamedTuple):
    file: str
    line: int
    times: int
    """Ops of one type that one line added: it ran as often, or half as often if it has two of them."""
    ops: int
    """Ops that this line added, with those in the functions that it called."""


def unrolled(graph: Any, places: Places) -> Unrolled | None:
    """The line that ran most often while `graph` was traced, or the line in a loop that called it."""
    ops = graph.get_operations()
    # Picked without rhythm: every tenth op of a loop of ten is always the same one.
    picked = random.Random(0).sample(ops, min(_SAMPLE, len(ops)))
    stacks: list[tuple[_Line, ...]] = []
    types: Counter[tuple[_Line, str]] = Counter()
    for op in picked:
        own, above = _stack(op, places)
        if not own or op.type == "Const" or any(file.endswith(_NOT_A_LOOP) for file in above):
            continue  # of constants, a slice alone has three
        if op.type in _HEAVY or not any("keras" in file for file in above):
            stacks.append(own)
            types[own[0], op.type] += 1
    if not types:
        return None
    (line, _), times = types.most_common(1)[0]
    own = next(own for own in stacks if own[0] == line)
    place = next((place for place in own if _in_loop(*place)), line)
    scale = len(ops) / len(picked)
    return Unrolled(*place, round(times * scale), round(scale * sum(place in own for own in stacks)))


def _stack(op: Any, places: Places) -> tuple[tuple[_Line, ...], list[str]]:
    """The user's lines that led to it, innermost first, as far as they were traced; whose files are above."""
    own: list[_Line] = []
    above: list[str] = []
    for frame in reversed(list(op.traceback)):
        if not places.is_library(frame.filename):
            own.append((frame.filename, frame.lineno or 0))
        elif not own:
            above.append(frame.filename)
        elif frame.filename.endswith(_TRACER):
            break
    return tuple(own), above


def _in_loop(file: str, line: int) -> bool:
    """Whether the source says so; it is read and parsed once per file."""
    return any(first <= line <= last for first, last in _loops(file))


@functools.lru_cache(maxsize=16)
def _loops(file: str) -> list[_Span]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found = (node for node in ast.walk(tree) if isinstance(node, _LOOPS))
    return [(node.lineno, node.end_lineno or node.lineno) for node in found]
