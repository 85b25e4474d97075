"""`tfslowtop whatif`: fixes tried on a real script without a screen."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tfslowtop.export.whatif import WhatIf, live
from tfslowtop.export.whatif import whatif as experiment

pytestmark = pytest.mark.tensorflow

ENDLESS = """
import time
import tensorflow as tf

@tf.function
def scale(x, n):
    return tf.reduce_sum(x * n)

x, n = tf.ones([8]), 0
while True:
    n += 1
    scale(x, n)
    time.sleep(0.02)
"""
#: A script that keeps a checkpoint, whose loop is in a module of its own.
MAIN = """
import pathlib
from parts.train import run

kept = pathlib.Path(__file__).parent / "checkpoint"
print("resumed" if kept.exists() else "from the start")
print("sum", run(120))
kept.write_text("1")
"""
MODULE = """import tensorflow as tf


@tf.function
def scale(x, n):
    return tf.reduce_sum(x * n)


def run(steps):
    total = 0.0
    x = tf.ones([8])
    for k in range(steps):
        total += float(scale(x, 0.5 * k))
    return total
"""
HEALTHY = """
import tensorflow as tf

@tf.function
def scale(x):
    return tf.reduce_sum(x @ x)

x = tf.ones([600, 600])
for _ in range(300):
    scale(x)
"""


def whatif(directory, text, *options):
    (directory / "script.py").write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "tfslowtop", "whatif", *options, "script.py"],
        capture_output=True,
        text=True,
        cwd=directory,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )


def test_a_patched_copy_is_measured_and_its_diff_applies(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "train.py").write_text(MODULE)
    done = whatif(tmp_path, MAIN, "--json", "out.json", "--diff")
    assert done.returncode == 1, done.stderr
    assert "running it once more without a change" in done.stderr and "1 worth changing" in done.stderr
    document = json.loads((tmp_path / "out.json").read_text())
    (tried,) = (t for t in document["tried"] if t["how"] == "patched")
    assert (tried["status"], tried["same_results"], tried["recommended"]) == ("kept", True, True), tried
    assert tried["file"] == str(tmp_path / "parts" / "train.py")
    assert tried["measured"]["low"] <= tried["measured"]["ratio"] <= tried["measured"]["high"]
    assert document["diff"] == done.stdout == tried["diff"]
    # No run of it has touched anything, and none has seen another one's checkpoint.
    assert (tmp_path / "parts" / "train.py").read_text() == MODULE
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.json", "parts", "script.py"]
    assert not list(Path(tempfile.gettempdir()).glob(f"tfslowtop-whatif-*/{tmp_path.name}*"))
    for command in (["git", "apply", "--check", "-"], ["patch", "-p1", "-F0"]):
        if shutil.which(command[0]) is not None:
            applied = subprocess.run(command, input=done.stdout, text=True, cwd=tmp_path, capture_output=True)
            assert applied.returncode == 0, applied.stderr + applied.stdout
            patched = (tmp_path / "parts" / "train.py").read_text()
    assert "scale(x, tf.constant(0.5 * k))" in patched


def test_a_script_without_end_is_tried_live_and_then_patched(tmp_path, monkeypatch):
    monkeypatch.setattr(live, "_ROUNDS", 1)
    monkeypatch.setattr(live, "_ON", 4.0)
    monkeypatch.setattr(experiment, "_FIRST_AT_MOST", 1.0)
    monkeypatch.setattr(experiment, "_SAMPLE", 4.0)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    Path("script.py").write_text(ENDLESS)
    result = WhatIf(["script.py"], max_seconds=300.0)
    result.go()
    by_how = {trial.how: trial for trial in result.trials}
    assert (by_how["live"].status, by_how["live"].same) == ("kept", True), by_how["live"].reason
    assert by_how["live"].measured.low <= by_how["live"].measured.ratio <= by_how["live"].measured.high
    # It prints nothing, so that nothing can be said about its results.
    assert (by_how["patched"].status, by_how["patched"].same) == ("kept", None), by_how["patched"].reason
    assert "scale(x, tf.constant(n, tf.float32))" in result.diff and result.worth_changing


def test_a_healthy_script_gets_nothing(tmp_path):
    done = whatif(tmp_path, HEALTHY, "--max-seconds", "60")
    assert (done.returncode, done.stdout.startswith("Nothing to try")) == (0, True), done.stderr


def test_a_script_that_fails_is_not_judged(tmp_path):
    assert whatif(tmp_path, "raise SystemExit(4)").returncode == 3
