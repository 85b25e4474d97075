"""Shared by all tests."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from paths import ROOT


@pytest.fixture
def root() -> Path:
    return ROOT


@pytest.fixture
def scenario_file(tmp_path: Path):
    """Writes a scenario file around the given functions."""

    def write(body: str, head: str = "", name: str = "mine.py") -> Path:
        path = tmp_path / name
        path.write_text(
            "from tfslowtop.scenario import *\n"
            f"SCENARIO = Scenario(title='t', kind='grows', claim='c', mechanism='m', {head})\n{body}"
        )
        return path

    return write


@pytest.fixture(scope="session")
def _sockets() -> Iterator[str]:
    """Where sockets are made (a short path): a watcher that a test kills leaves its directory behind."""
    with tempfile.TemporaryDirectory(prefix="tfs-", ignore_cleanup_errors=True) as directory:
        yield directory


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch, _sockets: str) -> None:
    """Tests see the same terminal everywhere, whatever the caller's environment says."""
    for name in ("NO_COLOR", "TEXTUAL_THEME", "TEXTUAL_FPS", "COLUMNS", "LINES", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", _sockets)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])))


def pytest_configure() -> None:
    """What a shell makes a background job ignore, programs under test would ignore too: Ctrl-C, hang-up."""
    for number, usual in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGQUIT, signal.SIG_DFL),
        (signal.SIGHUP, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)
