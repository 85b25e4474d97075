"""How it ends: by itself, stopped, left running, with its watcher killed, and taken up again."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from launching import SCRIPTS, collect, environment, text_of, wait_for, watched_in_terminal

from tfslowtop.agent.protocol.events import Ended, Hello, Note, Output
from tfslowtop.run import POLL_INTERVAL
from tfslowtop.sources.keeper import control
from tfslowtop.sources.script import ScriptSource, find_sessions, pass_signals_on, pick_session
from tfslowtop.sources.session_file import NewSession
from tfslowtop.sources.source import SourceError

RUNS = str(SCRIPTS / "runs.py")


@pytest.fixture(autouse=True)
def sessions(tmp_path_factory, monkeypatch) -> Path:
    home = tmp_path_factory.mktemp("sessions")
    home.chmod(0o700)
    monkeypatch.setenv("TFSLOWTOP_SESSIONS", str(home))
    return home


@pytest.fixture
def run(tmp_path):
    """Starts `runs.py`; whatever the test leaves running is ended after it."""
    sources = []

    def start(*arguments: str, **more) -> tuple[ScriptSource, Path]:
        count = tmp_path / "count"
        source = ScriptSource([RUNS, str(count), *arguments], env=environment(), **more)
        source.start()
        sources.append(source)
        return source, count

    yield start
    for source in sources:
        pid = source.pid
        source.close()
        if pid is not None and psutil.pid_exists(pid):
            os.kill(pid, signal.SIGKILL)


def printing(events) -> bool:
    return "line 3" in text_of(events)


def still_counts(count: Path, seconds: float = 60.0) -> bool:
    before, deadline = count.read_text(), time.monotonic() + seconds
    while time.monotonic() < deadline:
        if int(count.read_text()) > int(before) + 5:
            return True
        time.sleep(0.05)
    return False


def gone(pid: int, seconds: float = 60.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.05)
    return False


def test_ctrl_z_does_not_leave_the_script_stopped_for_good(run):
    source, count = run()
    wait_for(source, printing)
    source.type("\x1a")
    wait_for(source, lambda events: any(isinstance(e, Note) and "Ctrl-Z" in e.text for e in events))
    assert still_counts(count)
    os.kill(source.pid, signal.SIGSTOP)  # somebody means it: nobody takes that back
    assert not still_counts(count, 0.5)
    os.kill(source.pid, signal.SIGCONT)
    assert still_counts(count)


def test_everything_is_read_before_the_end():
    code = "import sys\nfor i in range(12000): print(f'{i:05d} é' + 'x' * 60)\nsys.stderr.write('last words')"
    result = watched_in_terminal(["-c", code], env=environment())
    lines = result.out.decode().split("\r\n")
    assert len(result.out) > 800_000 and lines[-1] == "last words"
    assert [line[:5] for line in lines[:-1]] == [f"{i:05d}" for i in range(12000)]
    assert sum(isinstance(e, Ended) for e in result.events) == 1 and isinstance(result.events[-1], Ended)


def test_a_slow_watcher_neither_slows_the_printing_nor_loses_the_end_of_it(tmp_path):
    done, file, lines = tmp_path / "done", tmp_path / "out.txt", 200_000
    code = f"for i in range({lines}): print(f'{{i:099d}}')\nopen({str(done)!r}, 'w').close()\nprint('end')"
    source = ScriptSource(["-c", code], env=environment(), output_file=str(file))
    source.start()
    events = []
    while not done.exists():  # as the app does: now and then, and never all that is there
        source.rest(POLL_INTERVAL)
        events += source.events(0.0)
    before = len(text_of(events))
    events += collect(source)
    source.close()
    assert before < 100 * lines / 2, "the script waited for its watcher"
    *_, last, end, _ = text_of(events).split("\r\n")
    assert (last, end) == (f"{lines - 1:099d}", "end") and "bytes of output not shown" in text_of(events)
    assert file.read_text() == "".join(f"{i:099d}\n" for i in range(lines)) + "end\n"


def test_a_child_that_prints_on_does_not_delay_the_end():
    code = "import os\nif os.fork() == 0:\n    while True: print('child', flush=True)\nprint('parent')"
    source = ScriptSource(["-c", code], env=environment())
    source.start()
    try:
        assert collect(source)[-1].code == 0
    finally:
        os.killpg(source.pid, signal.SIGKILL)
        source.close()


def test_a_file_gets_the_output_too(tmp_path):
    file = tmp_path / "out.txt"
    code = "print('a\\rb'); print('é\\r', end='')"
    watched_in_terminal(["-c", code], env=environment(), output_file=str(file))
    wait = time.monotonic() + 60
    while not (text := file.read_bytes()).endswith(b"\r") and time.monotonic() < wait:
        time.sleep(0.01)  # the keeper, who writes it, may outlive us for a moment
    assert text == "a\rb\né\r".encode()


def test_a_script_that_never_imports_tensorflow_is_told():
    result = watched_in_terminal(["-c", "print(1)"], env=environment())
    assert any(isinstance(e, Note) and "without importing TensorFlow" in e.text for e in result.events)


def test_typing_and_ctrl_c_reach_the_script(run):
    source = ScriptSource(["-c", "print('got', input('name? '))\nwhile True: pass"], env=environment())
    source.start()
    wait_for(source, lambda events: "name? " in text_of(events))
    source.type("Ada\n")
    wait_for(source, lambda events: "got Ada\r\n" in text_of(events))  # all of it
    source.interrupt()
    events = collect(source)
    source.close()
    assert text_of(events).startswith("^C") and "KeyboardInterrupt" in text_of(events)
    assert events[-1].code == -signal.SIGINT


def test_the_size_of_the_terminal_follows():
    code = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGWINCH, lambda *a: print('now', *os.get_terminal_size(), flush=True))\n"
        "print('ready', *os.get_terminal_size(), flush=True)\nsignal.pause()"
    )
    source = ScriptSource(["-c", code], env=environment(), size=(30, 100))
    source.start()
    wait_for(source, lambda events: "ready 100 30" in text_of(events))
    source.resize(50, 160)
    assert "now 160 50" in text_of(collect(source))
    source.close()


@pytest.mark.parametrize("headless", [False, True])
def test_stop_is_ctrl_c_first_so_that_a_script_can_clean_up(run, headless, capfd):
    source, count = run(headless=headless)
    while not count.exists():
        source.events(0.1)
    source.stop()
    events = collect(source)
    text = text_of(events) + capfd.readouterr().out
    assert "interrupted, cleaning up" in text
    assert events[-1].code == 7 and "stopped" in events[-1].how
    assert gone(source.pid)


@pytest.mark.parametrize("headless", [False, True])
def test_stop_asked_again_takes_no_excuse(run, headless, capfd):
    source, count = run("stubborn", headless=headless)
    while not count.exists():
        source.events(0.1)
    source.stop()
    source.stop()
    source.stop()
    assert collect(source)[-1].code == -signal.SIGKILL


def test_stop_and_close_leave_nothing(run, sessions):
    source, _ = run("stubborn")
    wait_for(source, printing)
    source.stop()
    source.events(0.1)
    source.close()
    assert gone(source.pid)
    assert list(sessions.iterdir()) == []


def test_left_running_it_goes_on_and_can_be_taken_up_again(run, sessions):
    source, count = run("import")
    wait_for(source, lambda events: printing(events) and any(isinstance(e, Hello) for e in events))
    sentence = source.detach()
    assert f"(pid {source.pid})" in sentence and "--reattach" in sentence
    time.sleep(0.3)
    assert still_counts(count)
    (session,) = find_sessions()
    assert session.alive and session.record.pid == source.pid and session.record.argv[0] == RUNS
    assert oct(session.directory.stat().st_mode)[-3:] == "700"
    for _ in range(2):
        again = ScriptSource.reattach(pick_session())
        again.start()
        assert again.pid == source.pid
        # What it printed before is there, and its agent speaks again.
        events = wait_for(again, lambda events: any(isinstance(e, Hello) for e in events))
        events += wait_for(again, lambda events: "watched" in text_of(events))
        # The hooks came off meanwhile, and are back.
        assert re.search(r"watched\r\n(line \d+ alone\r\n)+line \d+ watched", text_of(events))
        again.detach()
        time.sleep(0.3)
        assert still_counts(count)
    last = ScriptSource.reattach(pick_session(source.pid))
    last.start()
    last.stop()
    assert collect(last)[-1].code == 7
    last.close()
    assert find_sessions() == []


def test_the_newest_watcher_has_it(run):
    source, _ = run("import")
    wait_for(source, printing)
    again = ScriptSource.reattach(pick_session(source.pid))
    again.start()
    old = collect(source)
    assert "Another tfslowtop" in old[-1].how
    wait_for(again, lambda events: any(isinstance(e, Hello) for e in events))
    again.stop()
    assert collect(again)[-1].code == 7
    again.close()


WATCHER = """
import sys
from tfslowtop.sources.keeper import control
from tfslowtop.sources.script import ScriptSource
source = ScriptSource(sys.argv[2:], headless=sys.argv[1] == "headless")
source.start()
print(source.pid, flush=True)
while True:
    source.events(0.1)
"""


@pytest.mark.parametrize("mode", ["headless", "terminal"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
def test_when_the_watcher_is_killed_the_script_runs_on(mode, number, tmp_path):
    count = tmp_path / "count"
    env = {**environment(), "PYTHONPATH": f"{environment()['PYTHONPATH']}:{os.environ['PYTHONPATH']}"}
    with subprocess.Popen(
        [sys.executable, "-c", WATCHER, mode, RUNS, str(count), "import", "6"],
        env=env,
        stdout=subprocess.PIPE,
        text=True,
    ) as watcher:
        pid = int(watcher.stdout.readline().split()[0])
        while not count.exists():
            time.sleep(0.02)
        watcher.send_signal(number)
        watcher.wait()
        watcher.stdout.read(10)
        assert still_counts(count)
        if mode == "headless":
            os.kill(pid, signal.SIGKILL)
            return
    # It ends while nobody watches: that is kept to be told, once.
    assert gone(pid)
    deadline = time.monotonic() + 60
    while (sessions := find_sessions()) and sessions[0].alive:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert "ended with exit code 0" in sessions[0].describe()
    late = ScriptSource.reattach(pick_session(pid))
    late.start()
    events = collect(late)
    assert "line 0 " in text_of(events) and text_of(events).endswith("ran to its end\r\n")
    assert events[-1].code == 0
    assert find_sessions() == []


def test_a_watcher_that_stops_reading_does_not_stop_the_script(tmp_path):
    file = tmp_path / "done"
    code = f"for i in range(100000): print(i, 'x' * 40)\nopen({str(file)!r}, 'w').close()\nprint('end')"
    source = ScriptSource(["-c", code], env=environment())
    source.start()
    deadline = time.monotonic() + 60
    while not file.exists():  # and nobody reads
        assert time.monotonic() < deadline
        time.sleep(0.05)
    text = text_of(collect(source))
    source.close()
    assert "bytes of output not shown" in text and text.endswith("end\r\n")


def test_children_that_outlive_the_script_are_not_hung_up_on(tmp_path):
    file = tmp_path / "child"
    code = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    for i in range(30):\n"
        "        time.sleep(0.05)\n"
        "        print('child', i, flush=True)\n"
        f"    open({str(file)!r}, 'w').close()\n"
        "    os._exit(0)\n"
        "print('parent')"
    )
    result = watched_in_terminal(["-c", code], env=environment())
    assert b"parent" in result.out and result.code == 0
    deadline = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_closing_without_being_asked_to_stop_leaves_the_script_alone(run):
    source, count = run()
    wait_for(source, printing)
    source.close()
    assert still_counts(count)


def test_when_our_standard_output_is_data_the_scripts_goes_to_standard_error(capfd):
    code = "import sys; print('out'); print('err', file=sys.stderr)"
    source = ScriptSource(["-u", "-c", code], env=environment(), headless=True, stdout=2)
    source.start()
    collect(source)
    source.close()
    assert capfd.readouterr() == ("", "out\nerr\n")


def test_a_watcher_that_talks_nonsense_does_not_harm_the_script(run):
    source, count = run("import")
    wait_for(source, printing)
    session = pick_session(source.pid)
    for nonsense in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 100, control.frame(control.RESIZE, b"?")):
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.connect(session.watch_address)
            stranger.send(nonsense)
            time.sleep(0.1)
    assert still_counts(count)
    again = ScriptSource.reattach(pick_session(source.pid))
    again.start()
    again.stop()
    assert collect(again)[-1].code == 7
    again.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_headless_passes_signals_on(number, run, capfd):
    source, count = run(headless=True)
    while not count.exists():
        source.events(0.1)
    with pass_signals_on(source):
        os.kill(os.getpid(), number)
        assert collect(source)[-1].code == -number


def test_another_users_session_is_refused(sessions):
    if os.getuid() == 0:
        os.chown(sessions, 12345, -1)
        assert find_sessions() == []
        with pytest.raises(SourceError, match="belongs to user 12345"):
            pick_session()
        with pytest.raises(SourceError, match="belongs to user 12345"):
            NewSession()
    with pytest.raises(SourceError, match=r"no script with pid 1|belongs to"):
        os.environ["TFSLOWTOP_SESSIONS"] = str(sessions / "none")
        pick_session(1)


def test_no_session_is_one_sentence():
    with pytest.raises(SourceError, match=r"^There is nothing to reattach to; .*\.$"):
        pick_session()


def test_output_events_are_bounded():
    result = watched_in_terminal(["-c", "print('x' * 3_000_000)"], env=environment())
    assert max(len(e.text) for e in result.events if isinstance(e, Output)) <= 1 << 16
