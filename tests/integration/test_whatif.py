"""`tfslowtop whatif`: fixes tried on a real script without a screen."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.tensorflow

RETRACES = """
import tensorflow as tf

@tf.function
def scale(x, n):
    return tf.reduce_sum(x * n)

x, n = tf.ones([8]), 0
while True:
    n += 1
    scale(x, n)
"""
HEALTHY = """
import tensorflow as tf

@tf.function
def scale(x):
    return tf.reduce_sum(x * 2.0)

x = tf.ones([8])
for _ in range(2000):
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


def test_a_fix_that_helps_is_measured_and_the_exit_code_says_so(tmp_path):
    done = whatif(tmp_path, RETRACES, "--json", "out.json", "--max-seconds", "90")
    assert done.returncode == 1, done.stderr
    assert "pass n to scale as a tensor" in done.stdout and "1 of 1 worth changing." in done.stdout
    (tried,) = json.loads((tmp_path / "out.json").read_text())["tried"]
    assert (tried["status"], tried["how"], tried["same_results"]) == ("kept", "live", True)
    assert tried["cause"] == "retrace-python-value"
    assert tried["measured"]["low"] <= tried["measured"]["ratio"] <= tried["measured"]["high"]


def test_a_healthy_script_gets_nothing(tmp_path):
    done = whatif(tmp_path, HEALTHY, "--max-seconds", "60")
    assert (done.returncode, done.stdout.startswith("Nothing to try")) == (0, True), done.stderr


def test_a_script_that_fails_is_not_judged(tmp_path):
    assert whatif(tmp_path, "raise SystemExit(4)").returncode == 3
