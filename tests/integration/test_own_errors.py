"""A mistake of ours: one sentence and exit code 70; the script runs to its end, its output is let through."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import faulty
import pytest
from launching import STANDIN
from terminal import Terminal

#: Prints, is watched for a while, and ends with a code of its own.
SCRIPT = """
import os, sys, time
sys.path.insert(0, {standin!r})
import tensorflow
print("pid", os.getpid(), flush=True)
for i in range(3):
    print("line", i, flush=True)
    time.sleep(0.2)
print("last words", file=sys.stderr)
sys.exit(5)
"""

EVERYWHERE = [
    "tfslowtop.state.session:Session.feed",
    "tfslowtop.state.session:Session.view",
    "tfslowtop.state.session:diagnose",
    "tfslowtop.sensors.sampler:HostSensor.read",
    "tfslowtop.sources.direct_script:DirectScript.events",
    "tfslowtop.sources.direct_script:how_it_ended",
    "tfslowtop.export.headless:summary",
    "tfslowtop.export.headless:report",
]
#: Some break in the midst of a run.
AFTER = dict.fromkeys(EVERYWHERE, 0) | {EVERYWHERE[0]: 1, EVERYWHERE[1]: 1}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.format(standin=STANDIN))
    return path


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environment}
    return subprocess.run(
        command, capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL, timeout=60
    )


def alive(done: subprocess.CompletedProcess[str]) -> bool:
    return Path(f"/proc/{done.stdout.split()[1]}").exists()


@pytest.mark.parametrize("where", EVERYWHERE)
def test_headless_watches_the_script_to_its_end(where, script, tmp_path):
    done = run(
        faulty.command(
            where, "--json", str(tmp_path / "out.json"), "--attach", str(script), after=AFTER[where]
        )
    )
    assert done.returncode == 70, done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith("line")] == [
        f"line {i}" for i in range(3)
    ]
    assert "last words" in done.stderr and "Traceback" not in done.stderr
    (said,) = [line for line in done.stderr.splitlines() if "bug in tfslowtop" in line]
    assert "ZeroDivisionError: provoked" in said and said.endswith("; the script ended with exit code 5.")
    assert not alive(done)


@pytest.mark.parametrize(
    "where", ["tfslowtop.state.session:Session.feed", "tfslowtop.export.limits:judge", EVERYWHERE[-2]]
)
def test_check_never_calls_it_a_limit_that_was_exceeded(where, script):
    script.write_text(script.read_text().replace("exit(5)", "exit(0)"))
    done = run(faulty.command(where, "check", str(script)))
    assert done.returncode == 70, done.stderr
    assert "line 2" in done.stdout and "Traceback" not in done.stderr
    assert done.stderr.count("bug in tfslowtop") == 1 and "exit code 0." in done.stderr


def test_the_traceback_is_there_for_whoever_asks(script):
    done = run(faulty.command(EVERYWHERE[0], "--headless", "--attach", str(script)), TFSLOWTOP_DEBUG="1")
    assert done.returncode == 70 and "Traceback (most recent call last)" in done.stderr
    assert 'raise ZeroDivisionError("provoked")' not in done.stdout


def test_a_time_limit_holds_all_the_same(script):
    script.write_text(script.read_text().replace("range(3)", "range(6000)"))
    done = run(
        faulty.command(EVERYWHERE[0], "--headless", "--max-seconds", "1.5", "--attach", str(script), after=2)
    )
    assert done.returncode == 70 and done.stderr.endswith("the script was stopped with SIGINT.\n")
    assert not alive(done)


SLEEPER = "import time\ndef setup(p): pass\ndef iteration(s, fixes, i): time.sleep(0.005)\n"


@pytest.mark.parametrize(
    "where",
    [
        "tfslowtop.state.session:Session.feed",
        "tfslowtop.sources.scenario:ChildSource.events",
        "tfslowtop.export.scenarios:summary",
    ],
)
def test_a_scenario_is_ended_by_it(where, scenario_file):
    done = run(faulty.command(where, "run", str(scenario_file(SLEEPER)), "--iterations", "100"))
    assert done.returncode == 70, done.stderr
    assert done.stderr.count("bug in tfslowtop") == 1 and "Traceback" not in done.stderr


def test_verify_goes_on_with_the_next_one(scenario_file):
    first, second = (str(scenario_file(SLEEPER, name=name)) for name in ("first.py", "second.py"))
    done = run(faulty.command("tfslowtop.state.session:Session.feed", "verify", first, second))
    assert done.returncode == 70, done.stderr
    assert done.stdout.count("failed: This is a bug in tfslowtop") == 2
    assert "Traceback" not in done.stderr


def test_even_when_nothing_works():
    done = run(faulty.command("tfslowtop.commands.main:parse", "graph_growth"))
    assert done.returncode == 70 and done.stderr.startswith("tfslowtop: This is a bug in tfslowtop: ")
    assert "Traceback" not in done.stderr


WAITS = """
import pathlib, sys, time
print("first line", flush=True)
while not pathlib.Path({go!r}).exists():
    time.sleep(0.05)
print("last line")
sys.exit(5)
"""


@pytest.fixture
def open_faulty(tmp_path, monkeypatch):
    """The app with a mistake in it, on a script that runs until the file `go` is there."""
    sessions = tmp_path / "sessions"
    sessions.mkdir(mode=0o700)
    monkeypatch.setenv("TFSLOWTOP_SESSIONS", str(sessions))
    path, go, opened = tmp_path / "waits.py", tmp_path / "go", []
    path.write_text(WAITS.format(go=str(go)))

    def start(where: str, after: int = 0) -> Terminal:
        opened.append(Terminal(faulty.command(where, "--attach", str(path), after=after), width=150))
        return opened[0]

    yield start, go
    go.touch()
    for terminal in opened:
        terminal.close()


@pytest.mark.terminal
@pytest.mark.parametrize(
    ("where", "after"),
    [
        ("tfslowtop.state.session:Session.feed", 2),
        ("tfslowtop.run:Session.view", 0),
        ("tfslowtop.ui.screens.main:MainScreen.show", 1),
    ],
)
def test_the_app_says_so_and_the_script_goes_on(where, after, open_faulty):
    start, go = open_faulty
    terminal = start(where, after)
    terminal.wait_for("bug in tfslowtop: ZeroDivisionError: provoked")
    terminal.press("o")
    terminal.wait_for("first line")
    go.touch()
    terminal.wait_for("last line")
    terminal.wait_for("exit code 5")
    terminal.press("q")
    assert terminal.finish() == 70
    terminal.read(0.2)
    assert b"; the script ended with exit code 5." in terminal.raw and b"Traceback" not in terminal.raw


@pytest.mark.terminal
@pytest.mark.parametrize(
    ("where", "after"),
    [
        ("tfslowtop.ui.screens.output:OutputLines.render_line", 0),
        ("tfslowtop.ui.base:WatchApp._every_second", 2),
        ("tfslowtop.sources.kept_script:KeptScript.events", 1),
    ],
)
def test_where_the_app_cannot_go_on_the_terminal_is_the_scripts(where, after, open_faulty):
    start, go = open_faulty
    terminal = start(where, after)
    if "output" in where:
        terminal.wait_for("running, without TensorFlow so far")
        terminal.press("o")
    if "kept" in where:
        terminal.wait_for("To reattach: tfslowtop --reattach")
        terminal.press("q")
        assert terminal.finish() == 70
        return
    terminal.wait_for("first line")
    go.touch()
    assert terminal.finish() == 70
    terminal.read(0.2)
    assert b"last line" in terminal.raw and b"; the script ended with exit code 5." in terminal.raw
    assert b"Traceback" not in terminal.raw and b"\x1b[?1049l" in terminal.raw
