"""Real child processes: what a scenario does, what goes wrong with it, and that nothing is left behind."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tfslowtop.agent.protocol.events import (
    Block,
    Compare,
    Ended,
    Failed,
    Folded,
    Gauge,
    Hello,
    Note,
    Output,
    Phase,
    Samples,
    SetFixes,
    SetParams,
    Stream,
    Toggled,
)
from tfslowtop.agent.protocol.names import STREAM_KERNEL
from tfslowtop.agent.protocol.wire import encode
from tfslowtop.sources.inprocess import InProcessSource
from tfslowtop.sources.scenario import ChildSource
from tfslowtop.sources.source import Source, SourceError

SIMPLE = """
import time
def setup(params):
    return {"n": 0}
def iteration(s, fixes, i):
    s["n"] += 1
    time.sleep(0.002 if fixes.quick else 0.01)
def gauges(s):
    return {"things": s["n"]}
"""
HEAD = "fixes=(Fix('quick', 'be quick'),), params=(Param('size', 3, 'how many'),)"


def collect(
    source: Source,
    until: Callable[[list], bool],
    seconds: float = 60.0,
    react: Callable[[list], None] | None = None,
) -> list:
    events: list = []
    deadline = time.monotonic() + seconds
    while not until(events):
        assert time.monotonic() < deadline, [e for e in events if not isinstance(e, Samples)]
        events += source.events(0.05)
        if react is not None:
            react(events)
    return events


def ended(events: list) -> bool:
    return bool(events) and isinstance(events[-1], Ended)


def iterations(events: list) -> int:
    return sum(
        len(e) if isinstance(e, Samples) else e.count for e in events if isinstance(e, (Samples, Folded))
    )


def of(events: list, kind: type) -> list:
    return [e for e in events if isinstance(e, kind)]


@pytest.fixture(params=[ChildSource, InProcessSource])
def start(request, scenario_file):
    sources = []

    def begin(body: str, head: str = "", **kwargs) -> Source:
        source = request.param(scenario_file(body, head), **kwargs)
        sources.append(source)
        source.start()
        return source

    yield begin
    for source in sources:
        source.stop()
        source.close()


def test_a_scenario_tells_what_it_does_and_obeys(start):
    source = start(SIMPLE, HEAD)
    events = collect(source, lambda es: iterations(es) >= 10)
    source.send(SetFixes(("quick",)))
    events += collect(source, lambda es: bool(of(es, Toggled)) and iterations(es) >= 20)
    source.stop()
    events += collect(source, ended)
    assert [p.name for p in of(events, Phase)] == ["importing", "setup", "warm-up", "running", "done"]
    # A collection may have a stream of its own.
    (stream,) = [s for s in of(events, Stream) if s.kind == STREAM_KERNEL]
    assert Path(stream.file).name == "mine.py" and stream.line == 7
    assert [t.fixes for t in of(events, Toggled)] == [(), ("quick",)]
    assert [g.name for g in of(events, Gauge)][:1] == ["things"]
    samples = [s for s in of(events, Samples) if s.stream == stream.id]
    assert [s.first for s in samples] == [sum(map(len, samples[:n])) for n in range(len(samples))]
    assert events[-1] == Ended(0, "It was stopped.", events[-1].at)
    assert list(source.events(0)) == []


def test_fixes_may_be_on_from_the_start(start):
    source = start(SIMPLE, HEAD, fixes=("quick",))
    events = collect(source, lambda es: iterations(es) >= 1)
    assert [t.fixes for t in of(events, Toggled)] == [("quick",)]


def test_parameters_can_change_while_it_runs(start):
    body = (
        "def setup(params): return params\n"
        "def iteration(s, fixes, i):\n    import time; time.sleep(.002)\n"
        "def gauges(s): return {'size': s.size}\n"
    )
    source = start(body, HEAD, params={"size": "5"})
    collect(source, lambda es: any(g.value == 5 for g in of(es, Gauge)))
    source.send(SetParams(("size=9",)))
    collect(source, lambda es: any(g.value == 9 for g in of(es, Gauge)))


def test_an_ab_run_alternates_in_shuffled_pairs_with_a_state_each(start):
    source = start(SIMPLE, HEAD)
    collect(source, lambda es: iterations(es) >= 5)
    source.send(Compare((), ("quick",), 0.03))
    events = collect(source, lambda es: len(of(es, Block)) >= 12)
    source.send(SetFixes(()))
    events += collect(source, lambda es: bool(of(es, Toggled)))
    blocks = of(events, Block)
    arms = [b.arm for b in blocks]
    assert arms[-1] == -1
    pairs = [tuple(arms[n : n + 2]) for n in range(0, 12, 2)]
    assert set(pairs) <= {(0, 1), (1, 0)}
    assert {b.fixes for b in blocks if b.arm == 1} == {("quick",)}


def test_an_exception_names_the_file_and_the_line(start):
    source = start(
        "def setup(p): pass\n"
        "def iteration(s, fixes, i):\n    if i == 57:\n        raise ValueError('oh no')\n"
    )
    events = collect(source, ended)
    (failed,) = of(events, Failed)
    assert failed.iteration == 57
    assert failed.line == 6 and Path(failed.file).name == "mine.py"
    assert failed.message == "ValueError: oh no"
    assert "tfslowtop" not in failed.traceback and failed.traceback.startswith("Traceback")
    assert iterations(events) == 57


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("def setup(p):\n    import no_such_thing\ndef iteration(s, f, i): pass\n", "No module named"),
        ("def setup(p): return p.width\ndef iteration(s, f, i): pass\n", "declares no parameter 'width'"),
        ("def setup(p): pass\ndef iteration(s, f, i): f.other\n", "declares no fix 'other'"),
        ("def setup(p): pass\ndef iteration(s, f, i): raise SystemExit(3)\n", "SystemExit"),
        ("1 / 0\ndef setup(p): pass\ndef iteration(s, f, i): pass\n", "ZeroDivisionError"),
        ("def setup(p): pass\ndef iteration(s): pass\n", "TypeError"),
    ],
)
def test_whatever_a_scenario_does_wrong_is_told(start, body, message):
    events = collect(start(body), ended)
    (failed,) = of(events, Failed)
    assert message in failed.message + failed.traceback
    assert events[-1].code == 1


def test_output_is_kept(scenario_file):
    source = ChildSource(scenario_file("print('hello')\n" + SIMPLE, HEAD))
    source.start()
    try:
        events = collect(source, lambda es: bool(of(es, Output)))
        assert "hello" in of(events, Output)[0].text
    finally:
        source.close()


@pytest.fixture
def running(scenario_file):
    source = ChildSource(scenario_file(SIMPLE, HEAD))
    source.start()
    collect(source, lambda es: iterations(es) >= 3)
    yield source
    source.close()


def test_sigkill_is_told(running):
    os.kill(running.pid, signal.SIGKILL)
    events = collect(running, ended)
    assert events[-1].code == -signal.SIGKILL
    assert "SIGKILL" in events[-1].how


def test_a_crash_is_told(scenario_file):
    body = "import os\ndef setup(p): pass\ndef iteration(s, f, i): os.abort()\n"
    source = ChildSource(scenario_file(body))
    source.start()
    events = collect(source, ended)
    source.close()
    assert "SIGABRT" in events[-1].how


def test_sigstop_and_cont_lose_nothing(running):
    os.kill(running.pid, signal.SIGSTOP)
    time.sleep(0.3)
    while running.events(0):
        pass
    assert psutil.Process(running.pid).status() == psutil.STATUS_STOPPED
    running.send(SetFixes(("quick",)))
    assert collect(running, lambda es: True) == []
    os.kill(running.pid, signal.SIGCONT)
    events = collect(running, lambda es: bool(of(es, Toggled)) and iterations(es) > 3)
    assert of(events, Toggled)[0].fixes == ("quick",)


def test_a_child_that_ignores_everything_is_killed(scenario_file):
    body = (
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "def setup(p): pass\ndef iteration(s, f, i):\n    time.sleep(600)\n"
    )
    source = ChildSource(scenario_file(body))
    source.start()
    collect(source, lambda es: any(p.name == "warm-up" for p in of(es, Phase)))
    source.stop()
    events = collect(source, ended)
    source.close()
    assert events[-1].how == "It was stopped."


def test_nothing_is_left_behind(scenario_file, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    before = len(list(Path("/proc/self/fd").iterdir()))
    source = ChildSource(scenario_file(SIMPLE, HEAD))
    source.start()
    pid = source.pid
    (directory,) = [p for p in tmp_path.iterdir() if p.name.startswith("tfslowtop-")]
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    collect(source, lambda es: iterations(es) >= 1)
    source.close()
    assert not psutil.pid_exists(pid)
    assert not directory.exists()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_the_child_leaves_when_the_watcher_is_killed(scenario_file, tmp_path):
    script = (
        "import sys, time; from pathlib import Path; from tfslowtop.sources.scenario import ChildSource\n"
        "s = ChildSource(Path(sys.argv[1])); s.start(); print(s.pid, flush=True)\n"
        "while True: s.events(0.1)\n"
    )
    watcher = subprocess.Popen(
        [sys.executable, "-c", script, str(scenario_file(SIMPLE, HEAD))], stdout=subprocess.PIPE, text=True
    )
    assert watcher.stdout is not None
    child = psutil.Process(int(watcher.stdout.readline()))
    time.sleep(1.0)
    watcher.kill()
    watcher.wait()
    child.wait(timeout=60)
    watcher.stdout.close()


def _address(source: ChildSource) -> str:
    assert source._listener is not None
    return source._listener.address


def test_a_stranger_without_the_token_is_refused_and_changes_nothing(running):
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect(_address(running))
        stranger.send(encode(Hello(1, "wrong", 1, "3")))
        events = collect(running, lambda es: bool(of(es, Note)))
        assert "refused" in of(events, Note)[0].text
    collect(running, lambda es: iterations(es) >= 5)


def test_a_bad_frame_ends_the_connection_with_one_sentence(scenario_file):
    body = (
        "import gc, socket\n"
        "def setup(p): pass\n"
        "def iteration(s, f, i):\n"
        "    if i == 3:\n"
        "        [x for x in gc.get_objects() if isinstance(x, socket.socket)][0].send(b'\\xff' * 64)\n"
    )
    source = ChildSource(scenario_file(body))
    source.start()
    events = collect(source, ended)
    source.close()
    (note,) = of(events, Note)
    assert "limit" in note.text and "\n" not in note.text


def test_no_place_for_a_socket_is_one_sentence(scenario_file, monkeypatch):
    monkeypatch.setattr("tfslowtop.sources.listener._directories", lambda: iter(["/nonexistent", "/proc"]))
    with pytest.raises(SourceError, match="TMPDIR"):
        ChildSource(scenario_file(SIMPLE, HEAD)).start()


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("mount") is None, reason="filling a disk takes a mount of its own"
)
def test_a_full_disk_does_no_harm(scenario_file, tmp_path, monkeypatch):
    disk = tmp_path / "disk"
    disk.mkdir()
    options = ["mount", "-t", "tmpfs", "-o", "size=64k,nr_inodes=4", "tmpfs", str(disk)]
    if subprocess.run(options, capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount a disk")
    try:
        for n in range(4):
            try:
                (disk / f"full{n}").write_bytes(b"x" * 65536)
            except OSError:
                break
        monkeypatch.setenv("TMPDIR", str(disk))
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(disk))
        monkeypatch.setattr("tempfile.tempdir", None)
        source = ChildSource(scenario_file(SIMPLE, HEAD))
        source.start()  # falls back to a directory that has room
        collect(source, lambda es: iterations(es) >= 3)
        source.close()
    finally:
        subprocess.run(["umount", str(disk)], check=True)
