"""The loops of one code object, and how execution moved from one hooked call in it to the next."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType

from ..protocol.names import STREAM_LOOP, StreamKind
from .control_flow import CodeLoop, Flow, analyse
from .streams import Iteration, Stream

#: Code flags: generators and coroutines; functions whose variables are not in a dict.
GENERATOR = 0x20 | 0x80 | 0x200
_OPTIMIZED = 0x1

# From one instruction to another: how many open iterations to keep, whether the last of them repeats, and
# which loops begin.
Move = tuple[int, bool, tuple[Stream, ...]]


class Code:
    __slots__ = ("calls", "code", "flow", "items", "library", "loops", "make", "moves")

    def __init__(
        self, make: Callable[[StreamKind, str, str, int], Stream], code: CodeType, library: bool
    ) -> None:
        self.make, self.code, self.library = make, code, library
        self.flow: Flow | None = None
        self.moves: dict[int, Move] = {}
        self.loops: dict[CodeLoop, Stream] = {}
        self.calls: Stream | None = None
        self.items = sys.version_info >= (3, 13) or not code.co_flags & _OPTIMIZED
        """Whether its variables can be read while it runs, without copying them all."""

    def around(self, offset: int) -> list[Stream]:
        if self.flow is None:
            self.flow = analyse(self.code)
        result = []
        for code_loop in self.flow.around(offset):
            stream = self.loops.get(code_loop)
            if stream is None:
                stream = self.make(STREAM_LOOP, self.code.co_name, self.code.co_filename, code_loop.line)
                stream.generator = bool(self.code.co_flags & GENERATOR)
                stream.test, stream.calls = code_loop.test, code_loop.calls
                stream.item = code_loop.item if self.items else ""
                self.loops[code_loop] = stream
            result.append(stream)
        return result

    def move(self, last: int, here: int) -> Move:
        """How to get from the last instruction to this one; -1 is the entry of the function."""
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

    def next_item(self, own: list[Iteration], frame: FrameType) -> Move | None:
        """How to get here, if a loop has another item than when it was last seen."""
        variables, here, moved = frame.f_locals, frame.f_lasti, -1
        for depth, iteration in enumerate(own):
            stream = iteration.stream
            if stream.item:
                # Where the loop asks for its next item, the variable still holds the last one.
                item = id(variables.get(stream.item)) if stream.test != here else 0
                if moved < 0 and item and iteration.item not in (0, item):
                    moved = depth
                iteration.item = item
        if moved < 0:
            return None
        now = self.around(here)
        if moved >= len(now) or now[moved] is not own[moved].stream:
            return None
        return moved + 1, True, tuple(now[moved + 1 :])
