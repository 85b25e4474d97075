"""`tfslowtop check`: real scripts, and the exit codes that CI goes by."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from paths import CORPUS


def check(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tfslowtop.commands.main", "check", *arguments]
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=env, stdin=subprocess.DEVNULL)


@pytest.mark.tensorflow
def test_a_limit_that_is_exceeded_is_exit_code_1(tmp_path):
    done = check(
        "--max-retraces", "3", "--json", "out.json", str(CORPUS / "linear_schedule.py"), cwd=tmp_path
    )
    assert done.returncode == 1, done.stderr
    assert "train_step was retraced 59 times; 3 are allowed." in done.stderr
    (first, *_) = json.loads((tmp_path / "out.json").read_text())["findings"]
    assert (first["cause"], first["line"], first["symbol"]) == ("retrace-python-value", 24, "train_step")
    assert {"file", "since_step", "cost_seconds", "share", "confidence", "evidence"} <= set(first)
    assert {"summary", "code", "live"} == set(first["fix"])


@pytest.mark.tensorflow
def test_a_healthy_script_passes_and_is_told_so(tmp_path):
    done = check(str(CORPUS / "custom_loop.py"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "check: passed" in done.stderr
    # Where others keep the machine busy meanwhile, that is told, and is not the script's fault.
    assert "Nothing wrong found: the step" in done.stderr or "cpu-contention" in done.stderr


def test_a_script_that_fails_by_itself_is_told_apart(tmp_path):
    (tmp_path / "broken.py").write_text("import sys\nsys.exit(7)\n")
    done = check("broken.py", cwd=tmp_path)
    assert done.returncode == 3 and "failed with exit code 7" in done.stderr


def test_a_script_in_which_nothing_was_seen_does_not_pass(tmp_path):
    (tmp_path / "idle.py").write_text("print('done')\n")
    done = check("idle.py", cwd=tmp_path)
    assert done.returncode == 3 and "no step was seen" in done.stderr and "passed" not in done.stderr
    assert check("--allow-nothing", "idle.py", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Nothing to run"),
        (["nowhere.py"], "nowhere.py"),
        (["--fail-on", "sunspots", "x.py"], "no such cause"),
        (["--max-slope", "fast", "x.py"], "percent per 100 steps"),
        (["--max-leak", "1 ton", "x.py"], "bytes per 100 steps"),
        (["--max-leak", "9" * 400, "x.py"], "no limit"),
        (["--max-slope=-5", "x.py"], "percent per 100 steps"),
        (["--max-slope", "nan", "x.py"], "percent per 100 steps"),
        (["--max-retraces=-1", "x.py"], "0 or more"),
        (["--max-seconds=-1", "x.py"], "more than 0"),
        (["--max-seconds", "nan", "x.py"], "more than 0"),
        (["--max-seconds", "inf", "x.py"], "finite"),
        (["--fail-on", "", "x.py"], "at least one cause"),
        (["--fail-on", " , ", "x.py"], "at least one cause"),
    ],
)
def test_wrong_usage_is_exit_code_2(tmp_path, arguments, message):
    done = check(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr and "Traceback" not in done.stderr
