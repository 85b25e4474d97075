"""`tfslowtop check`: real scripts, and the exit codes that CI goes by."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from paths import CORPUS

from tfslowtop import exit_codes
from tfslowtop.commands.check import read_bytes, read_limits, read_percent
from tfslowtop.commands.main import main, parse
from tfslowtop.errors import UsageError


def check(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tfslowtop", "check", *arguments]
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=env, stdin=subprocess.DEVNULL)


@pytest.mark.tensorflow
def test_a_limit_that_is_exceeded_is_exit_code_1(tmp_path):
    done = check(
        "--max-retraces", "3", "--json", "out.json", str(CORPUS / "linear_schedule.py"), cwd=tmp_path
    )
    assert done.returncode == 1, done.stderr
    assert "train_step was retraced 59 times; the limit is 3." in done.stderr
    (first, *_) = json.loads((tmp_path / "out.json").read_text())["findings"]
    assert (first["cause"], first["line"], first["symbol"]) == ("retrace-python-value", 24, "train_step")
    assert {"file", "since_step", "cost_seconds", "share", "confidence", "evidence"} <= set(first)
    assert {"summary", "code", "example", "live"} == set(first["fix"])


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
    assert done.returncode == 3 and "No step was seen" in done.stderr and "passed" not in done.stderr
    assert check("--allow-nothing", "idle.py", cwd=tmp_path).returncode == 0


def test_a_script_gets_what_follows_it_and_a_hint_says_so(tmp_path):
    (tmp_path / "idle.py").write_text("import sys\nprint(sys.argv[1:])\n")
    done = check("--allow-nothing", "idle.py", "--max-retraces", "3", "--help", cwd=tmp_path)
    assert done.stdout == "['--max-retraces', '3', '--help']\n"
    assert "--max-retraces goes to idle.py" in done.stderr and "write it before the script." in done.stderr


def test_a_module_runs_too(tmp_path):
    (tmp_path / "idle.py").write_text("import sys\nprint(__name__, sys.argv[1:])\n")
    done = check("--allow-nothing", "--", "-m", "idle", "--", "-c", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == "__main__ ['--', '-c']\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Name a script to check"),
        (["--"], "Name a script to check"),
        (["nowhere.py"], "nowhere.py does not exist"),
        (["-m", "package"], "Put -- before Python's own options: tfslowtop check [options] -- -m ..."),
        (["--fail-on", "sunspots", "x.py"], "no such cause; `tfslowtop help` lists them all."),
        (["--max-slope", "fast", "x.py"], "percent per 100 steps"),
        (["--max-leak", "1 ton", "x.py"], "bytes per 100 steps"),
        (["--max-leak", "9" * 400, "x.py"], "the largest possible limit is 1e18."),
        (["--max-leak=-1", "x.py"], "bytes per 100 steps"),
        (["--max-leak", "nan", "x.py"], "bytes per 100 steps"),
        (["--max-slope=-5", "x.py"], "percent per 100 steps"),
        (["--max-slope", "nan", "x.py"], "percent per 100 steps"),
        (["--max-retraces=-1", "x.py"], "0 or more"),
        (["--max-seconds=-1", "x.py"], "above 0"),
        (["--max-seconds", "nan", "x.py"], "above 0"),
        (["--max-seconds", "inf", "x.py"], "finite"),
        (["--fail-on", "", "x.py"], "at least one cause"),
        (["--fail-on", " , ", "x.py"], "at least one cause"),
    ],
)
def test_wrong_usage_is_exit_code_2(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert main(["check", *arguments]) == exit_codes.USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line and line.startswith("tfslowtop: ")


@pytest.mark.parametrize(
    ("text", "value"), [("1MB", 1e6), ("512 kB", 512e3), ("3", 3.0), ("2MiB", 2 * 1024**2)]
)
def test_sizes(text, value):
    assert read_bytes(text) == value


def test_percent():
    assert read_percent("5%") == read_percent("5") == 5.0
    with pytest.raises(UsageError, match="--max-slope x"):
        read_percent("x")


def test_a_busy_machine_fails_no_check_unless_it_is_named():
    def causes(*arguments: str) -> frozenset[str]:
        return read_limits(parse(["check", *arguments, "a.py"])).causes

    assert "retrace-shape" in causes() and "cpu-contention" not in causes()
    assert "cpu-contention" in causes("--fail-on", "any")
    assert causes("--max-retraces", "3") == set() and causes("--fail-on", "gc-pause") == {"gc-pause"}
