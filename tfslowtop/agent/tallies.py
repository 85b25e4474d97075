"""Counts per line of the user's code: what it created, pulled or pushed."""

from __future__ import annotations

from types import CodeType, FrameType
from typing import Any, NamedTuple

from .code.ownership import Ownership
from .protocol.events import Tally
from .protocol.names import TallyKind

#: Lines beyond this many share one entry.
_MOST = 5_000


class Details(NamedTuple):
    """The fields that distinguish two counts of the same kind at the same line."""

    symbol: str
    package: str = ""
    module: str = ""
    function_line: int = 0
    array: str = ""
    container: str = ""
    bounded: bool = False
    inside: str = ""
    native: bool = False


#: Most tallies have only a symbol; a plain string is cheaper than `Details`.
Subject = str | Details

#: What, of what, file, line.
_Line = tuple[TallyKind, Subject, str, int]


class Tallies:
    def __init__(self, ownership: Ownership) -> None:
        self._ownership = ownership
        self._entries: dict[tuple[TallyKind, Subject, int, int], list[int]] = {}
        """Count, wall time and size; and the same as last sent."""
        self._codes: dict[int, CodeType] = {}
        self._totals: dict[_Line, list[int]] = {}
        self._placed: dict[_Line, list[int]] = {}
        self._lines: dict[tuple[int, int], tuple[str, int]] = {}

    def add(
        self,
        what: TallyKind,
        frame: FrameType | None,
        wall: int = 0,
        size: int = 0,
        times: int = 1,
        symbol: str = "",
    ) -> None:
        """Count `what` for the innermost line of the user's code around `frame`."""
        user = self._ownership.user_frame(frame)
        if user is None:
            self.at(what, symbol, None, 0, wall, size, times)
        else:
            self.at(what, symbol, user.f_code, user.f_lasti, wall, size, times)

    def at(
        self,
        what: TallyKind,
        subject: Subject,
        code: CodeType | None,
        offset: int,
        wall: int,
        size: int,
        times: int = 1,
    ) -> None:
        key = (what, subject, id(code), offset)
        entry = self._entries.get(key)
        if entry is None:
            if len(self._entries) >= _MOST:
                key, code = (what, "", id(None), 0), None
            if code is not None:
                self._codes[id(code)] = code  # kept alive, so that its id stays unique
            entry = self._entries.setdefault(key, [0, 0, 0, 0, 0, 0])
        entry[0] += times
        entry[1] += wall
        entry[2] += size

    def put(
        self,
        what: TallyKind,
        subject: Subject,
        file: str,
        line: int,
        count: int,
        wall: int = 0,
        size: int = 0,
    ) -> None:
        """Set a count whose file and line are known."""
        known = (what, subject, file, line) in self._totals
        if not known and len(self._totals) + len(self._placed) >= 2 * _MOST:
            return
        self._placed[what, subject, file, line] = [count, wall, size]

    def changed(self, now: int) -> list[Tally]:
        """Return what has grown since the last call, as totals per line."""
        grown: dict[_Line, None] = {}  # in order of appearance
        # A copy, not a list of pairs: making pairs can start a collection, which lets the program run.
        for (what, subject, code_id, offset), entry in self._entries.copy().items():
            if entry[0] == entry[3]:
                continue
            place = self._lines.get((code_id, offset))
            if place is None:
                place = self._lines[code_id, offset] = line_of(self._codes.get(code_id), offset)
            line = (what, subject, *place)
            total = self._totals.setdefault(line, [0, 0, 0])
            for i in range(3):
                value = entry[i]  # read once: the program goes on counting
                total[i] += value - entry[i + 3]
                entry[i + 3] = value
            grown[line] = None
        for line in list(self._placed):
            placed = self._placed.pop(line)
            if self._totals.get(line) != placed:
                self._totals[line] = placed
                grown[line] = None
        return [self._tally(line, self._totals[line], now) for line in grown]

    def _tally(self, at: _Line, total: list[int], now: int) -> Tally:
        what, subject, file, line = at
        of = subject if isinstance(subject, Details) else Details(subject)
        library = self._ownership.is_library(file)
        return Tally(what, of.symbol, file, line, total[0], total[1], total[2], now, library, *of[1:])


def line_of(code: Any, offset: int) -> tuple[str, int]:
    """Find the file and line of an instruction; a jump without a line has that of the one before."""
    if code is None:
        return "", 0
    before = code.co_firstlineno
    for start, end, line in code.co_lines():
        before = line or before
        if start <= offset < end:
            break
    return code.co_filename, before
