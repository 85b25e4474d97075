"""Directories of ours: others' are passed over, and what the dead have left is cleared away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from launching import SCRIPTS, environment

from tfslowtop.sources import session_file
from tfslowtop.sources.listener import Listener
from tfslowtop.sources.scenario import ChildSource
from tfslowtop.sources.script import ScriptSource
from tfslowtop.sources.session_file import NewSession, find_sessions, pick_session
from tfslowtop.sources.source import SourceError

TFSLOWTOP = [sys.executable, "-m", "tfslowtop"]


def short_directory(prefix: str) -> tempfile.TemporaryDirectory[str]:
    """One in which a keeper may still be tidying up when it is removed."""
    return tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True)


@pytest.fixture
def places(monkeypatch):
    """Two places for sessions, as /tmp and /dev/shm are; short, for sockets."""
    monkeypatch.delenv(session_file.HOME_VARIABLE, raising=False)
    with short_directory("a") as first, short_directory("b") as second:
        found = [Path(first), Path(second)]
        monkeypatch.setattr(session_file, "_places", lambda: found)
        yield found


def theirs(path: Path) -> None:
    path.mkdir(mode=0o755)
    os.chown(path, 12345, -1)


def link(path: Path) -> None:
    path.symlink_to(path.parent)


def wide_open(path: Path) -> None:
    path.mkdir()
    path.chmod(0o777)


OBSTACLES = [
    pytest.param(theirs, marks=pytest.mark.skipif(os.getuid() != 0, reason="gives a directory away")),
    link,
    wide_open,
    Path.touch,
]


@pytest.mark.parametrize("obstacle", OBSTACLES)
@pytest.mark.parametrize("where", [[0], [0, 1]])
def test_what_is_not_ours_is_passed_over(places, obstacle, where):
    for number in where:
        obstacle(places[number] / f"tfslowtop-{os.getuid()}")
    source = ScriptSource([str(SCRIPTS / "runs.py"), str(places[0] / "count")], env=environment())
    source.start()
    pid = source.pid
    try:
        wait_until(find_sessions)
        source.detach()
        (session,) = find_sessions()
        assert session.alive and pick_session().record.pid == pid
        assert session.directory.parent.stat().st_mode & 0o777 == 0o700
        for number in where:
            assert session.directory.parent != places[number] / f"tfslowtop-{os.getuid()}"
    finally:
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not any(s.alive for s in find_sessions()))  # its keeper has written the end


def test_without_a_session_it_is_said_what_was_passed_over(places):
    link(places[1] / f"tfslowtop-{os.getuid()}")
    with pytest.raises(
        SourceError,
        match=r"nothing to reattach to; start a script with --attach. Not searched: .* is not a directory",
    ):
        pick_session()


@pytest.mark.skipif(os.getuid() != 0, reason="becomes somebody else")
def test_a_session_that_somebody_put_among_ours_is_not_believed(places):
    session = NewSession()
    try:
        session_file.write(session.directory, session_file.Record(1, ("x.py",), "/", 1.0, "token"))
        assert len(find_sessions()) == 1
        os.chown(session.directory, 12345, -1)
        assert find_sessions() == []
    finally:
        os.chown(session.directory, 0, -1)
        session.abandon()


def test_a_session_whose_keeper_was_killed_goes_at_the_next_start(places):
    old = NewSession()
    session_file.write(old.directory, session_file.Record(1, ("x.py",), "/", 1.0, "token"))
    ended = NewSession()
    session_file.write(ended.directory, session_file.Record(2, ("x.py",), "/", 1.0, "token", code=0))
    alive = NewSession()
    old.hand_over()
    ended.hand_over()  # nobody has seen that end: it stays
    new = NewSession()
    assert not old.directory.exists() and ended.directory.exists() and alive.directory.exists()
    new.abandon()
    alive.abandon()


def wait_until(condition) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


SLEEPER = """
import time
def setup(p): pass
def iteration(s, fixes, i):
    open(PATH, "w").close()
    time.sleep(0.005)
"""


@pytest.mark.parametrize(
    ("command", "number", "left"), [("run", signal.SIGTERM, 0), ("run", signal.SIGKILL, 1), ("attach", 9, 1)]
)
def test_what_a_watcher_left_goes_at_the_next_start(command, number, left, scenario_file, tmp_path):
    with tempfile.TemporaryDirectory(prefix="tfs-") as directory:
        home = Path(directory)
        (home / "tfslowtop-mine").mkdir()  # a user's own
        (home / "tfslowtop-mine" / "notes").touch()
        env = {**environment(), "XDG_RUNTIME_DIR": directory}
        env["PYTHONPATH"] += os.pathsep + os.environ["PYTHONPATH"]
        count = tmp_path / "count"
        arguments = ["--headless", "--attach", str(SCRIPTS / "runs.py"), str(count), "import", "60"]
        if command == "run":
            scenario = scenario_file(SLEEPER.replace("PATH", repr(str(count))))
            arguments = ["run", str(scenario), "--seconds", "600"]
        watcher = subprocess.Popen(
            [*TFSLOWTOP, *arguments], env=env, stdout=subprocess.DEVNULL, start_new_session=True
        )
        wait_until(lambda: list(home.glob("tfslowtop-*/agent")))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_RUNTIME_DIR", directory)
            other = Listener()  # while it lives, nothing is taken from it
            assert len(list(home.glob("tfslowtop-*/agent"))) == 2
            wait_until(count.exists)  # a signal during its start would be another test
            watcher.send_signal(number)
            assert watcher.wait(60) == (143 if number == signal.SIGTERM else -number)
            assert len(list(home.glob("tfslowtop-*/agent"))) == 1 + left
            new = Listener()
            assert len(list(home.glob("tfslowtop-*/agent"))) == 2
            new.close()
            other.close()
        if command == "attach":
            os.killpg(watcher.pid, signal.SIGKILL)
        assert [path.name for path in home.iterdir()] == ["tfslowtop-mine"]


def test_a_lock_is_not_passed_on_to_the_script(scenario_file):
    source = ChildSource(scenario_file(SLEEPER))
    source.start()
    try:
        descriptors = [p.readlink().name for p in Path(f"/proc/{source.pid}/fd").iterdir()]
        assert "lock" not in descriptors
    finally:
        source.close()


@pytest.mark.skipif(os.getuid() != 0, reason="mounts a small disk")
def test_a_full_disk_is_passed_over_and_does_no_harm_later(places):
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "x", places[0]]).returncode:
        pytest.skip("no right to mount here")
    try:
        full = places[0] / "full"
        _fill(full)
        session = NewSession()
        assert session.directory.is_relative_to(places[1])
        session.abandon()
        full.unlink()
        directory = places[0] / "session"
        directory.mkdir()
        _fill(full)
        session_file.write(
            directory, session_file.Record(1, ("x" * 9999,), "/", 1.0, "token"), bytes(1 << 20)
        )
        assert session_file._read(directory) is None
    finally:
        subprocess.run(["umount", places[0]])


def _fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return
