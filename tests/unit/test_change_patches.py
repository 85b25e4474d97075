"""Changes as patches of the user's file, judged by the programs that have to accept them."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tfslowtop.diagnosis.rewriting.patch import apply_change, unified_diff
from tfslowtop.diagnosis.rewriting.statement import Change

LOOP = """import tensorflow as tf

def train(data):
    for x in data:
        if x is not None:
            opt = tf.keras.optimizers.Adam(
                1e-3)
            step(x, opt)
        done(x)
"""


def patched(before: str, after: str, source: str, line: int) -> str | None:
    lines = apply_change(Change(before, after), source.splitlines(keepends=True), line)
    return "".join(lines) if lines is not None else None


def test_a_line_is_replaced_where_it_stands():
    source = "import tensorflow as tf\nfor lr in rates:\n    f(lr)\nf(lr)\n"
    assert patched("f(lr)", "f(tf.constant(lr))", source, 3) == source.replace(
        "    f(lr)", "    f(tf.constant(lr))"
    )


def test_a_statement_moves_before_its_loop_with_all_of_its_lines():
    made = "opt = tf.keras.optimizers.Adam(\n    1e-3)"
    inner = "    opt = tf.keras.optimizers.Adam(\n        1e-3)"
    result = patched(f"for x in data:\n{inner}", f"{made}\nfor x in data:\n    ...", LOOP, 6)
    assert result is not None
    assert result.splitlines()[3:8] == [
        "    opt = tf.keras.optimizers.Adam(",
        "        1e-3)",
        "    for x in data:",
        "        if x is not None:",
        "            step(x, opt)",
    ]


def test_a_decorator_stands_above_its_function():
    source = "import tensorflow as tf\nclass A:\n    @log\n    def f(self, x):\n        return x\n"
    result = patched("@log\ndef f(self, x):", "@tf.function\n@log\ndef f(self, x):", source, 5)
    assert result == source.replace("    @log", "    @tf.function\n    @log")


def test_what_a_change_needs_is_imported():
    source = '"""Doc."""\nfrom __future__ import annotations\n\nimport os\nkept = []\nkept.append(os)\n'
    change = ("kept = []\n...\nkept.append(os)", "kept = collections.deque(maxlen=9)\n...\nkept.append(os)")
    result = patched(*change, source, 6)
    assert result is not None and "\n\nimport collections\nimport os\n" in result


@pytest.mark.parametrize(
    ("before", "after", "source", "line"),
    [
        ("s = open(x)", "with open(x) as s:\n    ...", "s = open(x)\nuse(s)\n", 1),  # no body
        ("f(lr)", "f(nowhere(lr))", "f(lr)\n", 1),  # a name that the file does not have
        ("f(lr)", "f(1)", "g(lr)\n", 1),  # edited meanwhile
        ("f(1)", "f(2)", "f(1)\nf(1)\n", 9),  # which of them?
        ("for x in y:\n    a(\n    ...", "a(\n...\nfor x in y:\n    ...",
         "for x in y:\n    a(\n        1,\n        2)\n", 2),
        ("def f(self):\n    self.o = A()", "self.o = A()\ndef f(self):\n    ...",
         "class B:\n    def f(self):\n        self.o = A()\n        g()\n", 3),
        ("x", "y", "def broken(:\nx\n", 2),
        ("", "", "", 0),
    ],
)  # fmt: skip
def test_there_is_no_patch_where_it_would_not_fit(before, after, source, line):
    assert patched(before, after, source, line) is None


@pytest.mark.parametrize("command", [["git", "apply", "-"], ["patch", "-p1", "-F0"]], ids=lambda c: c[0])
@pytest.mark.parametrize("end", ["\n", ""], ids=["newline", "no-newline"])
def test_the_usual_programs_take_it(command, end, tmp_path):
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    before = "a = 1\nb = 'é'\n\tc\nlast" + end
    after = "a = 1\nb = 2\n\tc\nlast = 3" + end
    (tmp_path / "sub").mkdir()
    file = tmp_path / "sub" / "train.py"
    file.write_text(before, encoding="utf-8")
    patch = unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), "sub/train.py")
    done = subprocess.run(command, input=patch.encode(), cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr + done.stdout
    assert file.read_text(encoding="utf-8") == after
