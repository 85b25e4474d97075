"""What made a trace long: a line of the user's that added its ops hundreds of times, or a huge constant."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, NamedTuple

from .places import Places

#: Ops of which the stack is looked at; each takes some microseconds.
_SAMPLE = 400
#: What a layer is made for. An optimizer adds its small ops once per weight, which is no loop of the user's.
_HEAVY = {"MatMul", "Conv2D", "BatchMatMulV2", "Conv1D", "BiasAdd", "Einsum", "LSTMBlockCell"}
_NOT_A_LOOP = ("backprop.py", "gradients_util.py", "optimizer.py")


class Unrolled(NamedTuple):
    file: str
    line: int
    times: int
    """How often the line ran."""
    constants: int
    """Bytes of the largest constant."""


def unrolled(graph: Any, places: Places) -> Unrolled | None:
    """The line that ran most often while `graph` was traced."""
    ops = graph.get_operations()
    # Picked without rhythm: every tenth op of a loop of ten is always the same one.
    picked = random.Random(0).sample(ops, min(_SAMPLE, len(ops)))
    lines: Counter[tuple[str, int, str]] = Counter()
    for op in picked:
        user, above = None, []
        for frame in reversed(list(op.traceback)):
            if not places.is_library(frame.filename):
                user = frame
                break
            above.append(frame.filename)
        if user is None or any(file.endswith(_NOT_A_LOOP) for file in above):
            continue
        if op.type in _HEAVY or not any("keras" in file for file in above):
            lines[user.filename, user.lineno or 0, op.type] += 1
    if not lines:
        return None
    (file, line, _), count = lines.most_common(1)[0]
    constants = [op.outputs[0] for op in ops if op.type == "Const"]
    largest = max(((t.shape.num_elements() or 0) * t.dtype.size for t in constants), default=0)
    return Unrolled(file, line, round(count * len(ops) / len(picked)), largest)
