"""Attach, from the command line: a real script with real TensorFlow, without and with a screen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from terminal import Terminal

TRAIN = """
import sys
import tensorflow as tf

w = tf.Variable(tf.ones([8, 1]))


@tf.function
def train_step(x, y, lr):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w - y) ** 2)
    w.assign_sub(lr * tape.gradient(loss, w))
    return loss


def main():
    x, y = tf.ones([4, 8]), tf.ones([4, 1])
    lr = 0.1
    for i in range(int(sys.argv[1])):
        loss = train_step(x, y, lr)
        lr *= 0.99
    print("loss", float(loss), sys.argv, __name__, __file__)
    sys.exit(3)


main()
"""
CLI = [sys.executable, "-m", "tfslowtop"]
QUIET = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}


def run(command: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, env=QUIET, stdin=subprocess.DEVNULL
    )


@pytest.fixture(scope="module")
def watched(
    tmp_path_factory,
) -> tuple[subprocess.CompletedProcess[str], subprocess.CompletedProcess[str], dict]:
    """The same script bare and watched, and what was found."""
    directory = tmp_path_factory.mktemp("attach")
    (directory / "train.py").write_text(TRAIN)
    bare = run([sys.executable, "train.py", "40", "--json"], directory)
    mine = run([*CLI, "--headless", "--json", "out.json", "--attach", "train.py", "40", "--json"], directory)
    return bare, mine, json.loads((directory / "out.json").read_text())


pytestmark = pytest.mark.tensorflow


def test_the_script_runs_as_without_us(watched):
    bare, mine, _ = watched
    assert mine.returncode == bare.returncode == 3
    assert mine.stdout == bare.stdout and "loss" in mine.stdout


def test_an_option_behind_the_script_is_the_scripts_and_a_hint_says_so(watched):
    assert "--json goes to train.py" in watched[1].stderr


def test_the_report_has_what_the_design_says(watched):
    report = watched[2]
    assert {"version", "target", "streams", "traces", "gauges", "findings", "dropped"} <= set(report)
    target = report["target"]
    assert target["argv"] == ["train.py", "40", "--json"] and target["exit_code"] == 3
    assert target["tensorflow"].startswith("2.") and target["wall_seconds"] > 0
    assert "rss" in report["gauges"]


def test_the_step_is_the_loop_and_every_retrace_has_its_reason(watched):
    report = watched[2]
    (step,) = [s for s in report["streams"] if s["is_step"]]
    assert step["calls"] == 40 and Path(step["file"]).name == "train.py"
    (function,) = [t for t in report["traces"] if t["function"] == "train_step"]
    assert function["count"] == 40 and function["line"] == 8
    reason = function["reasons"][0]
    assert (reason["argument"], reason["cause"], reason["count"]) == ("lr", "retrace-python-value", 39)


def test_the_summary_says_which_argument_and_what_to_do(watched):
    text = watched[1].stderr
    assert "train_step (train.py:8) was traced 40 times in 40 calls" in text
    assert "lr is a Python value with 40 different values" in text
    assert "Pass lr as a tensor, with tf.constant" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.py"], "nowhere.py"),
        (["."], "."),
        ([], "There is nothing to run"),
        (["bad.py"], "SyntaxError"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(tmp_path, arguments, message):
    (tmp_path / "bad.py").write_text("def broken(:\n")
    done = run([*CLI, "--headless", "--attach", *arguments], tmp_path)
    assert done.returncode == 2
    assert message in done.stderr and "Traceback" not in done.stderr


def test_a_script_that_never_imports_tensorflow_may_do_so(tmp_path):
    (tmp_path / "plain.py").write_text("print('hello')\n")
    done = run([*CLI, "--headless", "--json", "-", "--attach", "plain.py"], tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout)["target"]["tensorflow"] is None
    assert "hello" in done.stderr and "never imported TensorFlow" in done.stderr


def test_time_that_is_up_is_no_failure(tmp_path):
    (tmp_path / "endless.py").write_text("import time\nwhile True: time.sleep(0.1)\n")
    done = run([*CLI, "--headless", "--max-seconds", "2", "--attach", "endless.py"], tmp_path)
    assert done.returncode == 0
    assert "stopped by --max-seconds with Ctrl-C after" in done.stderr


@pytest.mark.terminal
def test_the_screen_shows_the_streams_and_leaving_asks(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(TRAIN)
    terminal = Terminal([*CLI, "--attach", str(path), "100000"], env={"TF_CPP_MIN_LOG_LEVEL": "3"})
    try:
        terminal.wait_for(r"train_step .*train\.py:8")
        terminal.wait_for(r"lr is a Python value with \d+ different values")
        terminal.press("o")
        terminal.wait_for("Output of train.py")
        terminal.press("\x1b")
        terminal.wait_for(lambda text: "Output of" not in text and "where" in text)
        terminal.press("q")
        terminal.wait_for("still running")
        terminal.press("s")
        assert terminal.finish() != 0  # interrupted, as by Ctrl-C
    finally:
        terminal.close()
