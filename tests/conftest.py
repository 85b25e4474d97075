"""Fixtures and settings for all tests."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from leftovers import MARK, kill_marked
from paths import ROOT

#: Files that take longest, in that order. They start first, so that none of them runs alone at the end.
LONGEST = (
    "corpus/test_diagnosis_corpus.py",
    "integration/faults/test_program.py",
    "integration/test_live_fixes.py",
    "unit/test_steps.py",
    "integration/faults/test_signals.py",
    "integration/faults/test_surroundings.py",
    "terminal/test_terminal.py",
    "terminal/test_ui_screens.py",
    "integration/test_whatif.py",
    "integration/test_machine_for_real.py",
    "terminal/test_ui_snapshots.py",
    "terminal/test_ui_machine.py",
    "integration/test_attach.py",
    "integration/test_hooks.py",
    "terminal/test_ui_script.py",
    "integration/test_catalogue.py",
    "integration/test_own_errors.py",
    "corpus/test_diagnosis_recorded.py",
    "integration/test_sensors_host.py",
    "integration/test_check.py",
)


@pytest.fixture
def root() -> Path:
    return ROOT


@pytest.fixture
def scenario_file(tmp_path: Path):
    """Return a function that writes a scenario file around the given functions."""

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
    """Make a directory for sockets: a short path, removed with what killed watchers leave in it."""
    with tempfile.TemporaryDirectory(prefix="tfs-", ignore_cleanup_errors=True) as directory:
        yield directory


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch, _sockets: str) -> None:
    """Give tests the same terminal everywhere, whatever the caller's environment says."""
    for name in ("NO_COLOR", "TEXTUAL_THEME", "TEXTUAL_FPS", "COLUMNS", "LINES", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", _sockets)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])))


@pytest.fixture(autouse=True)
def _no_leftovers(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    """Kill what a failed test leaves running, which would slow down all tests after it."""
    mark = f"{os.getpid()}-{id(request)}"
    monkeypatch.setenv(MARK, mark)
    yield
    if "unit" not in request.path.parts:  # those start nothing that outlives them
        kill_marked(mark)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first; within a file the order stays."""
    ranks = {ROOT / "tests" / name: rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.path, len(ranks)))


def pytest_collection_finish() -> None:
    """Keep the collector off modules and tests, which stay: the apps of screen tests make it run often."""
    gc.collect()
    gc.freeze()


def pytest_configure() -> None:
    """Let no process compile what another has compiled, and undo what a shell makes a background job ignore.

    Containers often have PYTHONDONTWRITEBYTECODE, with which a start of tfslowtop takes half as long again.
    Programs under test would inherit that Ctrl-C and hang-up are ignored.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    for number, usual in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGQUIT, signal.SIG_DFL),
        (signal.SIGHUP, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)
