"""The app in a real terminal with real TensorFlow in its child."""

from __future__ import annotations

import os
import re
import signal
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest
from terminal import Terminal

APP = [sys.executable, "-m", "tfslowtop"]

pytestmark = pytest.mark.terminal


@pytest.fixture
def open_app():
    opened = []

    def start(*arguments: str, **kwargs) -> Terminal:
        terminal = Terminal([*APP, *arguments], **kwargs)
        opened.append(terminal)
        return terminal

    yield start
    for terminal in opened:
        terminal.close()


def child_of(terminal: Terminal) -> psutil.Process:
    (child,) = psutil.Process(terminal.process.pid).children()
    return child


@pytest.mark.tensorflow
def test_a_growing_graph_flattens_in_front_of_you(open_app):
    terminal = open_app("graph_growth")
    terminal.wait_for(r"importing TensorFlow")
    terminal.wait_for(r"rising \+[\d.]+ %/100 it")
    terminal.press("1")
    terminal.wait_for(r"1 \[x\]")
    terminal.press("2")
    text = terminal.wait_for(r"2 \[x\].*×[\d.]+ faster \((95 % CI )?[\d.]+–[\d.]+\)", 60)
    assert "│" in text and "fixes 1+2 together" in text
    terminal.wait_for(r"latency .*= flat", 60)
    assert re.search(r"TensorFlow 2\.\d+\.\d+ on CPU:0", terminal.text)
    terminal.press("q")
    assert terminal.finish() == 0


@pytest.mark.tensorflow
@pytest.mark.parametrize("how", ["enter", "kill"])
def test_tensorflow_is_imported_while_the_list_is_read(open_app, how):
    terminal = open_app()
    terminal.wait_for("press enter to start")
    deadline = time.monotonic() + 60
    while not psutil.Process(terminal.process.pid).children():
        assert time.monotonic() < deadline
        terminal.read(0.1)
    warm = child_of(terminal)
    assert "--warm" in warm.cmdline() and warm.nice() > psutil.Process().nice()
    if how == "kill":  # nothing can be tidied up then
        terminal.process.kill()
    else:
        terminal.press("j")  # the first scenario needs no TensorFlow
        terminal.wait_for("Default graph grows in the loop +press enter")
        terminal.press("\r")
        terminal.wait_for(r"running · \d")
        assert child_of(terminal) == warm, "the scenario uses the process that was ready"
        terminal.press("q")
        assert terminal.finish() == 0
    warm.wait(60)


SLEEPER = "import time\ndef setup(p): pass\ndef iteration(s, fixes, i): time.sleep(0.005)\n"


def test_the_app_survives_what_happens_to_its_child(open_app, scenario_file):
    terminal = open_app(str(scenario_file(SLEEPER)), width=80, height=24)
    terminal.wait_for(r"running · ")
    os.kill(child_of(terminal).pid, signal.SIGSTOP)
    terminal.wait_for(r"stopped \(SIGSTOP\)")
    os.kill(child_of(terminal).pid, signal.SIGCONT)
    terminal.wait_for(r"running · ")
    os.kill(child_of(terminal).pid, signal.SIGKILL)
    terminal.wait_for(r"killed by SIGKILL")
    terminal.press("r")
    terminal.wait_for(r"running · ")
    terminal.press("q")
    assert terminal.finish() == 0
    terminal.read(0.2)


def test_the_app_may_be_stopped_and_goes_on(open_app, scenario_file):
    terminal = open_app(str(scenario_file(SLEEPER)), width=80, height=24)
    terminal.wait_for(r"running · ")
    for _ in range(3):
        os.kill(terminal.process.pid, signal.SIGSTOP)
        time.sleep(0.1)
        os.kill(terminal.process.pid, signal.SIGCONT)
        time.sleep(0.1)
    terminal.press("?")
    terminal.wait_for("Keys and how")
    terminal.press("\x1b")
    terminal.wait_for(r"running · ")
    terminal.press("q")
    assert terminal.finish() == 0


def test_a_broken_scenario_shows_its_traceback_and_can_be_mended(open_app, scenario_file):
    path = scenario_file(
        "import time\ndef setup(p): pass\n"
        "def iteration(s, fixes, i):\n    time.sleep(0.005)\n    if i == 57: raise ValueError('oh no')\n"
    )
    terminal = open_app(str(path), width=200)  # the file's whole path stands in one line
    wanted = ("ValueError: oh no", "mine.py:7", "failed in iteration 57")
    terminal.wait_for(lambda text: all(part in text for part in wanted))
    path.write_text("def broken(:\n")
    terminal.press("r")
    terminal.wait_for("syntax error")
    path.write_text(scenario_file(SLEEPER).read_text())
    terminal.press("r")
    terminal.wait_for(r"running · ")


def test_every_size_works_and_too_small_says_so(open_app, scenario_file):
    terminal = open_app(str(scenario_file(SLEEPER, "fixes=(Fix('a', 'mend it'),)")), width=200, height=50)
    terminal.wait_for(r"running · ")
    everywhere = ("latency", "memory since start", "mend it", "q Quit")
    roomy = (*everywhere, "retraces")
    for width, height, parts in [(120, 40, roomy), (80, 24, roomy), (60, 16, everywhere)]:
        terminal.resize(width, height)
        terminal.wait_for(lambda text, parts=parts: all(part in text for part in parts))
    terminal.resize(40, 10)
    terminal.wait_for(r"needs 60x16")
    terminal.resize(120, 40)
    terminal.wait_for("latency")


@pytest.mark.parametrize("told", [True, False])
def test_when_the_terminal_goes_away_so_does_everything(open_app, scenario_file, told):
    terminal = open_app(str(scenario_file(SLEEPER)))
    terminal.wait_for(r"running · ")
    child = child_of(terminal)
    terminal.hang_up()
    if told:  # the kernel tells the session leader, if it listens (nohup does not)
        os.kill(terminal.process.pid, signal.SIGHUP)
    terminal.process.wait(60)
    child.wait(60)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_told_to_go_it_gives_the_terminal_back_and_leaves_nothing_behind(open_app, scenario_file, number):
    with tempfile.TemporaryDirectory(prefix="tfs-") as directory:  # a socket's path is short
        terminal = open_app(str(scenario_file(SLEEPER)), env={"XDG_RUNTIME_DIR": directory})
        terminal.wait_for(r"running · ")
        assert list(Path(directory).iterdir())
        child = child_of(terminal)
        os.kill(terminal.process.pid, number)
        assert terminal.finish() == 128 + number
        assert b"\x1b[?1049l" in terminal.raw, "the shell's own screen is back"
        assert not list(Path(directory).iterdir())
        child.wait(60)


#: The app with a key that keeps its event loop busy for good.
FROZEN = """
import os, sys
from tfslowtop.commands import main as cli
from tfslowtop.ui.base import WatchApp
def freeze(app):
    os.write(2, b"frozen")
    while True: pass
WatchApp.action_pause = freeze
sys.exit(cli.main())
"""


@pytest.mark.parametrize(("what", "number"), [("scenario", signal.SIGTERM), ("script", signal.SIGHUP)])
def test_told_to_go_it_needs_no_event_loop(scenario_file, tmp_path, number, what):
    script = tmp_path / "waits.py"
    script.write_text("import time\nwhile True: time.sleep(0.1)\n")
    arguments = [str(scenario_file(SLEEPER))] if what == "scenario" else ["--attach", str(script)]
    with tempfile.TemporaryDirectory(prefix="tfs-") as directory:
        env = {"XDG_RUNTIME_DIR": directory, "TFSLOWTOP_SESSIONS": f"{directory}/s"}
        terminal = Terminal([sys.executable, "-c", FROZEN, *arguments], env=env)
        before = terminal.settings
        terminal.wait_for("running · " if what == "scenario" else "running")
        child = child_of(terminal)
        terminal.press(" ")
        terminal.wait_for(lambda text: b"frozen" in terminal.raw)
        os.kill(terminal.process.pid, number)
        assert terminal.finish() == 128 + number
        terminal.read(0.2)
        assert b"\x1b[?1049l" in terminal.raw, "the shell's own screen is back"
        assert terminal.settings == before
        terminal.close()
        if what == "scenario":
            assert not list(Path(directory).iterdir())
        else:  # the script runs on, with its keeper
            (kept,) = child.children()
            assert kept.cmdline()[-1] == str(script)
            kept.kill()
        child.wait(60)


def test_seven_bits_are_enough(open_app, scenario_file):
    terminal = open_app("--ascii", str(scenario_file(SLEEPER, "fixes=(Fix('a', 'mend it'),)")))
    terminal.wait_for(r"running \| ")
    terminal.press("1")
    text = terminal.wait_for(r"1 \[x\] mend it")
    assert text.isascii(), "".join(sorted({c for c in text if ord(c) > 127}))


def test_a_locale_without_unicode_is_drawn_in_seven_bits(open_app, scenario_file):
    terminal = open_app(str(scenario_file(SLEEPER)), env={"PYTHONIOENCODING": "ascii"})
    text = terminal.wait_for(r"running \| ")
    assert text.isascii() and "\\u" not in text and "\\x" not in text


def test_no_colour_is_no_colour(open_app, scenario_file):
    terminal = open_app(str(scenario_file(SLEEPER)), env={"NO_COLOR": "1"})
    terminal.wait_for(r"running · ")
    time.sleep(0.5)
    terminal.read(0.5)
    colours = {cell.fg for row in terminal.screen.buffer.values() for cell in row.values()}
    assert all(c == "default" or (len(c) == 6 and c[0:2] == c[2:4] == c[4:6]) for c in colours), colours


@pytest.mark.parametrize("arguments", [["graph_growth"], ["--attach", "-c", "pass"]])
@pytest.mark.parametrize(
    ("how", "env", "sentence"),
    [('2>"$0"', {}, "needs a terminal"), ("", {"TERM": "dumb"}, "TERM says")],
)
def test_it_does_not_draw_where_nobody_could_read_it(tmp_path, arguments, how, env, sentence):
    file = tmp_path / "err"
    command = ["sh", "-c", f'exec "$@" {how}', str(file), *APP, *arguments]
    terminal = Terminal(command, env=env)
    try:
        assert terminal.finish() == 2
        terminal.read(0.2)
        said = file.read_text() if how else terminal.text.strip()
        assert sentence in said and said.startswith("tfslowtop: ") and len(said.splitlines()) <= 2
        assert b"\x1b" not in terminal.raw
    finally:
        terminal.close()
