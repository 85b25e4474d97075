"""What becomes of the changes that `whatif` tries, with runs that are made up."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from tfslowtop.agent.protocol.events import Stream
from tfslowtop.diagnosis.finding import Finding, Fix
from tfslowtop.export.whatif import whatif
from tfslowtop.export.whatif.program_run import Observed
from tfslowtop.state.streams import StreamStats
from tfslowtop.stats.blocks import Stretch

SCRIPT = """import tensorflow as tf
def f(x, n): ...
def g(x, n): ...
for n in range(99):
    f(x, n)
    g(x, n)
"""


def step(milliseconds: float, cpu: float | None = None) -> StreamStats:
    rng = np.random.default_rng(int(1000 * milliseconds))
    wall = milliseconds / 1e3 * rng.uniform(0.97, 1.03, 200)
    start = (1e9 * np.cumsum(wall)).astype(np.int64)
    stats = StreamStats(Stream(1, "step", "loop", "train.py", 2), "loop")
    used = wall if cpu is None else wall * cpu / milliseconds
    stats.add(Stretch(np.arange(200.0), start, wall, used))
    return stats


class Program:
    """Runs of a script: by what is in its text, how long a step takes and what it prints."""

    def __init__(self, path) -> None:
        self.path, self.texts = path, list[str]()
        self.times = {"": 40.0, "tf.constant(n)": 10.0}
        self.printed, self.failing, self.outside = "loss 0.25\n", "", set[str]()
        self.cpu: float | None = None
        self.findings = [self.finding("f", 5)]

    def finding(self, symbol: str, line: int) -> Finding:
        return Finding(
            "retrace-python-value", str(self.path), line, symbol, 0, 6.0, 0.75, "high", "",
            Fix("pass it", ""), {"argument": "n"},
        )  # fmt: skip

    def go(self, what: str, seconds: float, texts: Mapping[str, bytes], on_view=None, **how) -> Observed:
        text = texts.get(str(self.path), SCRIPT.encode()).decode()
        self.texts.append(text)
        took = min(ms for part, ms in self.times.items() if part in text)
        run = Observed(
            code=0, stdout=self.printed, seconds=took / 5, wall=took / 5, step=step(took, self.cpu)
        )
        run.findings, run.written_outside = tuple(self.findings), self.outside
        if len(self.texts) > 2 and self.failing:
            run.code, run.stderr = 1, self.failing
        if len(self.texts) == 3 and "different" in self.failing:
            run.code, run.stdout = 0, "loss 0.75\n"
        return run

    def send(self, command: object) -> None: ...

    def original(self, f: Finding) -> Finding:
        return f


@pytest.fixture
def program(tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    program = Program(tmp_path / "train.py")
    monkeypatch.setattr(whatif, "ProgramRun", lambda *args, **kwds: program)
    return program


def tried(**options):
    result = whatif.WhatIf(["train.py"], json="out.json", **options)
    result.go()
    return result, json.loads(Path("out.json").read_text())


def test_a_change_that_helps_is_recommended_with_its_patch(program):
    result, document = tried()
    (trial,) = document["tried"]
    assert (trial["how"], trial["status"], trial["same_results"], trial["recommended"]) == (
        "patched",
        "kept",
        True,
        True,
    )
    assert (
        trial["promised"] == [4.0, 4.0] and 3.8 < trial["measured"]["low"] <= trial["measured"]["high"] < 4.2
    )
    assert "+    f(x, tf.constant(n))" in document["diff"] and document["diff"] in result.table() + "\n"
    assert program.path.read_text() == SCRIPT and program.texts[:2] == [SCRIPT, SCRIPT]


def test_what_is_left_after_a_change_is_tried_on_top_of_it(program):
    program.findings.append(program.finding("g", 6))
    program.times["f(x, tf.constant(n))\n    g(x, tf.constant(n))"] = 2.0
    result, document = tried()
    assert [round(t["measured"]["ratio"]) for t in document["tried"]] == [4, 5]
    assert round(document["total"]["ratio"]) == 20 and "All patches together: ×20" in result.table()
    assert document["diff"].count("\n+ ") == 2 and document["tried"][1]["diff"].count("\n+ ") == 1


@pytest.mark.parametrize(
    ("failing", "status", "words"),
    [
        ("different", "rolled-back", "differs in 1 line of 1"),
        ("Traceback\nTypeError: no tensors here", "failed", "TypeError: no tensors here"),
    ],
)
def test_a_change_that_breaks_the_script_is_not_recommended(program, failing, status, words):
    program.failing = failing
    result, document = tried()
    (trial,) = document["tried"]
    assert (trial["status"], trial["recommended"], document["diff"]) == (status, False, None)
    assert words in trial["reason"] and words in result.table() and not result.worth_changing


def test_a_faster_run_that_takes_the_same_cpu_time_is_chance(program):
    program.cpu = 8.0
    result, document = tried()
    assert document["tried"][0]["status"] == "kept" and not result.worth_changing and document["diff"] is None
    assert "not enough to recommend it" in result.table()


def test_a_script_that_writes_elsewhere_is_not_run_twice(program):
    program.outside = {"/data/model.ckpt"}
    _, document = tried()
    assert len(program.texts) == 1
    assert (
        document["tried"][0]["status"] == "refused" and "/data/model.ckpt" in document["tried"][0]["reason"]
    )


def test_without_a_private_copy_there_is_only_the_first_run(program, monkeypatch):
    monkeypatch.setattr("tfslowtop.export.whatif.workspace.MOST_FILES", 0)
    result, document = tried()
    assert len(program.texts) == 1 and document["tried"][0]["status"] == "refused"
    assert "too large" in document["note"] and result.table().count("too large") == 1


def test_a_finding_without_a_patch_is_advice_in_words(program):
    program.findings = [program.finding("h", 5)]  # no call of h on this line
    result, document = tried()
    assert (document["tried"], document["advice"][0]["advice"]) == ([], "pass it")
    assert len(program.texts) == 1 and "pass it" in result.table()
