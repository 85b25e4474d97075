"""What is known of one code object: its loops, and how its places follow on one another."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType

from ..protocol.names import STREAM_LOOP, StreamKind
from .control_flow import Flow, Ring, analyse
from .streams import Loop, Turn

GENERATOR = 0x20 | 0x80 | 0x200
_OPTIMIZED = 0x1

# How to get from one place to another: turns to keep, whether the last of them went round, loops to begin.
Move = tuple[int, bool, tuple[Loop, ...]]


class Code:
    __slots__ = ("calls", "code", "flow", "items", "library", "loops", "make", "moves")

    def __init__(
        self, make: Callable[[StreamKind, str, str, int], Loop], code: CodeType, library: bool
    ) -> None:
        self.make, self.code, self.library = make, code, library
        self.flow: Flow | None = None
        self.moves: dict[int, Move] = {}
        self.loops: dict[Ring, Loop] = {}
        self.calls: Loop | None = None
        self.items = sys.version_info >= (3, 13) or not code.co_flags & _OPTIMIZED
        """Whether its variables can be looked at while it runs, without copying them all."""

    def around(self, offset: int) -> list[Loop]:
        if self.flow is None:
            self.flow = analyse(self.code)
        result = []
        for ring in self.flow.around(offset):
            loop = self.loops.get(ring)
            if loop is None:
                loop = self.make(STREAM_LOOP, self.code.co_name, self.code.co_filename, ring.line)
                loop.generator = bool(self.code.co_flags & GENERATOR)
                loop.test, loop.calls = ring.test, ring.calls
                loop.item = ring.item if self.items else ""
                self.loops[ring] = loop
            result.append(loop)
        return result

    def move(self, last: int, here: int) -> Move:
        """From the last place to this one; -1 is the entry of the function."""
        now = self.around(here)
        if last < 0:
            return 0, False, tuple(now)
        before = self.around(last)
        common = 0
        while common < min(len(before), len(now)) and before[common] is now[common]:
            common += 1
        assert self.flow is not None
        round_again = common > 0 and not self.flow.forward(last, here)
        return common, round_again, tuple(now[common:])

    def next_item(self, own: list[Turn], frame: FrameType) -> Move | None:
        """How to get here, if a loop has another item than when it was last looked at."""
        variables, here, moved = frame.f_locals, frame.f_lasti, -1
        for depth, turn in enumerate(own):
            loop = turn.loop
            if loop.item:
                # Where it asks for the next item, its variable still has the last one.
                item = id(variables.get(loop.item)) if loop.test != here else 0
                if moved < 0 and item and turn.item not in (0, item):
                    moved = depth
                turn.item = item
        if moved < 0:
            return None
        now = self.around(here)
        if moved >= len(now) or now[moved] is not own[moved].loop:
            return None
        return moved + 1, True, tuple(now[moved + 1 :])
