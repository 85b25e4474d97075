"""What must be true of every row, in every mode."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Iterator

import pytest

from .acts import hang_up
from .driver import APP, CHECK, OUR_TRACEBACK, Fault, Outcome, run


def rows(table: list[Fault]) -> pytest.MarkDecorator:
    """A test for each row and mode."""
    assert len({fault.name for fault in table}) == len(table), "two rows of the same name"
    cells = [(fault, mode) for fault in table for mode in fault.modes]
    return pytest.mark.parametrize(
        ("fault", "mode"),
        [
            pytest.param(fault, mode, id=f"{fault.name}-{mode}", marks=list(_marks(fault, mode)))
            for fault, mode in cells
        ],
    )


def _marks(fault: Fault, mode: str) -> Iterator[pytest.MarkDecorator]:
    if mode == APP:
        yield pytest.mark.terminal
    if fault.user:
        able = os.getuid() == 0 and shutil.which("setpriv") is not None
        yield pytest.mark.skipif(not able, reason="only root can become another user, with setpriv")


class Judge:
    """Lays a watched run beside the plain one, which is done once for all modes."""

    def __init__(self) -> None:
        self._plain: dict[str, Outcome] = {}

    def __call__(self, fault: Fault, mode: str) -> None:
        if fault.runs and fault.name not in self._plain:
            self._plain[fault.name] = run(fault, "plain")
        watched = run(fault, mode)
        if fault.runs:
            self._compare(fault, mode, self._plain[fault.name], watched)
        else:
            assert (watched.marks, watched.code) == ("", fault.codes.get(mode, 2)), watched.said
        told = watched.said + watched.raw.decode(errors="replace")
        assert not OUR_TRACEBACK.search(told), told
        assert re.search(fault.says, watched.said), watched.said
        assert not (fault.never and re.search(fault.never, told)), told
        assert watched.running == [], "processes are left"
        assert watched.lying == [], "files are left"
        there = fault.act is not hang_up  # the terminal
        if mode == APP and there and b"\x1b[?1049h" in watched.raw and watched.code >= 0:
            assert b"\x1b[?1049l" in watched.raw, "the terminal is not given back"

    def _compare(self, fault: Fault, mode: str, plain: Outcome, watched: Outcome) -> None:
        assert watched.marks == plain.marks, f"another result:\n{watched.said}"
        code = fault.codes.get(mode, _as_told(plain.code, mode))
        assert watched.code == code, watched.said
        if mode not in fault.codes and plain.code:
            how = f"exit code {plain.code}" if plain.code > 0 else signal.Signals(-plain.code).name
            assert mode == CHECK or how in watched.said, watched.said
        if mode != APP and fault.same_output:
            assert watched.out == plain.out
            assert plain.said in watched.said


def _as_told(code: int, mode: str) -> int:
    """How a mode passes on the script's own code: as a shell does, or in the terms of `check`."""
    if mode == CHECK:
        return 3 if code else 0
    return code if code >= 0 else 128 - code
