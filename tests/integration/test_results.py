"""Results are tried before a run begins and written at its end, never at the cost of the script's own."""

from __future__ import annotations

import json
import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tfslowtop.export.files import ResultFile, as_json
from tfslowtop.sources.source import SourceError

TFSLOWTOP = [sys.executable, "-m", "tfslowtop"]
ENDS_WITH_5 = "import sys\nopen('started', 'w').close()\nprint('output')\nsys.exit(5)\n"
#: A locale without UTF-8, which Python is kept from making up for.
PLAIN = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}


@pytest.fixture(autouse=True)
def script(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "script.py"
    path.write_text(ENDS_WITH_5)
    return path


def watch(*arguments: str | bytes, env=None, **more) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*TFSLOWTOP, *arguments],
        stdin=subprocess.DEVNULL,
        env={**os.environ, **(env or {})},
        timeout=60,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more},
    )


@pytest.mark.parametrize(
    ("name", "why"), [("no/where.json", "No such file"), (".", "directory"), ("x" * 300, "name too long")]
)
@pytest.mark.parametrize("command", [["--attach"], ["check"]])
def test_a_file_that_cannot_be_written_is_refused_before_the_script_starts(name, why, command):
    options = ["--json", name]
    done = watch(*(["check", *options] if command == ["check"] else [*options, "--attach"]), "script.py")
    assert done.returncode == 2, done.stderr
    assert why in done.stderr.decode() and len(done.stderr.splitlines()) == 1
    assert not Path("started").exists()


def test_the_output_file_of_the_app_is_tried_too_and_not_for_a_headless_run():
    done = watch("--output", "no/where.txt", "--attach", "script.py")
    assert done.returncode == 2 and b"No such file" in done.stderr
    done = watch("--output", "out.txt", "--headless", "--attach", "script.py")
    assert done.returncode == 2 and b"redirect" in done.stderr
    done = watch("--max-seconds", "3", "--attach", "script.py")
    assert done.returncode == 2 and b"--headless" in done.stderr
    assert not Path("started").exists()


def test_a_full_disk_costs_the_file_and_nothing_else():
    Path("out.json").write_text("old")
    done = watch(
        "--json",
        "out.json",
        "--attach",
        "script.py",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
    )
    assert done.returncode == 5, done.stderr
    told = done.stderr.decode()
    assert "script.py: The script ended with exit code 5" in told and "Traceback" not in told
    assert "The results could not be written to out.json: File too large." in told
    assert Path("out.json").read_text() == "old" and {p.name for p in Path().iterdir()} == {
        "out.json",
        "script.py",
        "started",
    }


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_full_standard_streams_do_not_change_the_code(stream):
    with Path("/dev/full").open("wb") as full:
        done = watch("--json", "-", "--attach", "-c", "raise SystemExit(5)", env={}, **{stream: full})
    assert done.returncode == 5
    if stream == "stdout":
        assert b"could not be written to standard output: No space left" in done.stderr
    else:
        assert json.loads(done.stdout)["target"]["exit_code"] == 5


@pytest.mark.parametrize("env", [{}, PLAIN])
def test_a_name_that_is_not_utf_8(env):
    name = b"sk\xffript.py"
    Path(os.fsdecode(name)).write_bytes("raise SystemExit(5)  # é ×\n".encode())
    done = watch("--json", "out.json", "--attach", name, env=env)
    assert done.returncode == 5, done.stderr
    assert b"Traceback" not in done.stderr and b"sk\\udcffript.py" in done.stderr
    written = Path("out.json").read_bytes()
    (argument,) = json.loads(written.decode("utf-8"))["target"]["argv"]
    assert argument.encode("utf-8", "surrogateescape") == name


@pytest.mark.parametrize("arguments", [["list"], ["list", "--json"]])
def test_other_commands_print_in_any_locale_and_say_when_they_cannot(arguments):
    done = watch(*arguments, env=PLAIN)
    assert done.returncode == 0, done.stderr
    if "--json" in arguments:
        assert json.loads(done.stdout)
    with Path("/dev/full").open("wb") as full:
        done = watch(*arguments, stdout=full)
    assert done.returncode == 1
    assert done.stderr == b"tfslowtop: Standard output cannot be written: No space left on device.\n"


def test_a_file_is_replaced_whole_and_keeps_its_mode_and_its_link():
    Path("real.json").write_text("old")
    Path("real.json").chmod(0o640)
    Path("link.json").symlink_to("real.json")
    file = ResultFile("link.json")
    assert {p.name for p in Path().iterdir()} == {"real.json", "link.json", "script.py"}
    assert file.write(b"new") == ""
    assert Path("link.json").is_symlink() and Path("real.json").read_bytes() == b"new"
    assert stat.S_IMODE(Path("real.json").stat().st_mode) == 0o640


def test_a_device_or_a_pipe_is_written_to_and_not_replaced():
    before = Path("/dev/null").stat()
    assert ResultFile("/dev/null").write(b"x") == ""
    after = Path("/dev/null").stat()
    assert stat.S_ISCHR(after.st_mode) and (before.st_ino, before.st_dev) == (after.st_ino, after.st_dev)
    assert "No space left" in ResultFile("/dev/full").write(b"x")


@pytest.mark.skipif(os.getuid() != 0, reason="becomes somebody else")
def test_what_is_not_ours_to_write_is_refused(tmp_path):
    Path("theirs.json").write_text("x")
    Path("theirs.json").chmod(0o644)
    pid = os.fork()
    if pid == 0:
        os.setgid(12345)
        os.setuid(12345)
        try:
            ResultFile("theirs.json")
        except SourceError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


def test_json_is_utf_8_whatever_is_in_it():
    assert as_json({"a": "é\udcff", "b": float("nan")}) == '{\n  "a": "é\\udcff",\n  "b": null\n}\n'.encode()


STUBBORN = """
import signal, sys, time
for number in {ignored}:
    signal.signal(number, signal.SIG_IGN)
print("ready", flush=True)
while True:
    time.sleep(0.1)
"""


@pytest.mark.parametrize(
    ("ignored", "words"),
    [
        ("()", "with Ctrl-C after"),
        ("(signal.SIGINT,)", "with SIGTERM, since Ctrl-C did not end it, after"),
    ],
)
def test_the_time_limit_says_how_it_ended_the_script(script, ignored, words):
    script.write_text(STUBBORN.format(ignored=ignored))
    done = watch("--headless", "--max-seconds", "0.5", "--json", "out.json", "--attach", "script.py")
    assert done.returncode == 0, done.stderr
    assert f"stopped by --max-seconds {words}" in done.stderr.decode()
    by = "SIGINT" if ignored == "()" else "SIGTERM"
    assert json.loads(Path("out.json").read_text())["target"]["stopped_by"] == by
