"""Which loop made a trace long: the source of the lines that added the ops says it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from tfslowtop.agent.code.ownership import Ownership
from tfslowtop.agent.hooks.tf_function.unrolled import unrolled

SOURCE = """
def step(x):
    return x + 1

def rollout(x):
    for t in range(200):
        for stage in range(2):
            x = step(x)
    return x

for epoch in range(3):
    rollout(0)
"""


def op(*lines: tuple[str, int], type: str = "AddV2") -> SimpleNamespace:
    frames = [SimpleNamespace(filename=file, lineno=line) for file, line in lines]
    return SimpleNamespace(type=type, traceback=frames)


def test_the_outermost_loop_of_the_function_that_has_one(tmp_path: Path):
    file = str(tmp_path / "train.py")
    Path(file).write_text(SOURCE)
    inside = [op((file, 12), ("func_graph.py", 1), (file, 8), (file, 3)) for _ in range(300)]
    others = [op((file, 12), ("func_graph.py", 1), (file, 9), type="Identity") for _ in range(20)]
    seen = unrolled(SimpleNamespace(get_operations=lambda: inside + others), Ownership("elsewhere.py"))
    assert seen is not None
    assert (seen.file, seen.line, seen.times, seen.ops) == (file, 6, 300, 300)
