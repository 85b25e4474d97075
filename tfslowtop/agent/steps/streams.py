"""What repeats: loops of the user's code and other things with turns, and what each turn did."""

from __future__ import annotations

import time

from ..protocol.names import StreamKind
from ..sample_buffer import Buffer

# What a turn did, as bits.
GRADIENT = 1  # a gradient was computed
COMMIT = 2  # an optimizer changed the model
ASSIGN = 4  # a variable that gradients were taken of was changed by hand
CALL = 8  # a tf.function, a model
RUN = 16  # Session.run
KERAS = 32  # fit, evaluate, predict, *_on_batch
DATA = 64  # the next element of a dataset
HOST = 128  # a result pulled to the host, an array pushed to the device
OP = 256  # an eager op
TAPE = 512  # a tape was opened to record the forward pass

UPDATE = GRADIENT | COMMIT | ASSIGN | TAPE
TRAINS = GRADIENT | COMMIT | TAPE

#: What is no work of its own: a turn that found its data at an end, or was left after a look, did nothing.
IDLE = DATA | HOST

#: Reading the CPU clock of the process is a system call: only turns at least this long are worth it.
_CPU_FROM = 4_000_000


#: The share of a loop's turns that says what its turns do.
_MOSTLY = 0.5


class Loop:
    """One thing that repeats. Its turns go to a buffer; what they did is counted by kind of turn."""

    __slots__ = (
        "bits",
        "buffer",
        "calls",
        "changes",
        "entries",
        "file",
        "generator",
        "header",
        "item",
        "kind",
        "last",
        "line",
        "main",
        "masks",
        "name",
        "outer",
        "stream",
        "test",
        "what",
    )

    def __init__(self, kind: StreamKind, name: str, file: str, line: int) -> None:
        self.kind, self.name, self.file, self.line = kind, name, file, line
        self.buffer = Buffer()
        self.bits = 0
        """What one call of it does, for what is called: found out while it is traced."""
        self.stream = -1
        self.entries = 0
        self.changes = 0
        """Turns that called another function than the turn before."""
        self.masks: dict[int, int] = {}
        """How many turns did what: `bits << 16 | bits of the loops inside`."""
        self.outer: Loop | None = None
        self.main = self.generator = False
        self.last = 0
        self.what = 0
        self.header = ""
        self.item = ""
        """The variable that has the turn's item, where it can be looked at."""
        self.test = -1
        """Where the next one is asked for."""
        self.calls = True
        """Whether its body calls anything beside the loops in it."""

    @property
    def count(self) -> int:
        return self.buffer.head

    def did(self, bits: int, *, own: bool = False) -> float:
        """The share of turns that did one of these things, in the loop's own body or anywhere inside."""
        masks = dict(self.masks)
        every = sum(masks.values())
        bits &= 0xFFFF
        hits = sum(n for mask, n in masks.items() if (mask >> 16 if own else mask >> 16 | mask) & bits)
        return hits / every if every else 0.0


class Turn:
    """One iteration on its way."""

    __slots__ = (
        "below",
        "bits",
        "cpu",
        "end",
        "first",
        "giver",
        "item",
        "loop",
        "outer",
        "put",
        "start",
        "void",
        "what",
    )

    def __init__(self, loop: Loop, start: int, outer: Turn | None) -> None:
        self.loop, self.start, self.outer = loop, start, outer
        self.put = loop.buffer.put
        self.end = start
        self.bits = self.below = self.cpu = 0
        self.void = False
        self.what = 0
        """Which function the turn called last, by id."""
        self.first = 0
        """Which one the first turn of a loop inside called."""
        self.giver = 0
        """What gave the first of the item, by id, where it was asked for; LOOK, if that was the last call."""
        self.item = 0
        """The item of a `for`, by id: the next one is another object, made while this one is still there."""

    def again(self, now: int) -> None:
        """Ends the turn and begins the next one, in place: this is the hot path of every loop."""
        bits, below, start = self.bits, self.below, self.start
        # Else nothing came to pass: the round that only found the data at an end.
        if below or bits & ~IDLE or (bits and not self.void):
            loop = self.loop
            wall = now - start
            if wall < _CPU_FROM:
                self.put((start, wall, 0))
                self.cpu = 0
            else:
                cpu = time.process_time_ns()
                self.put((start, wall, cpu - self.cpu if self.cpu else 0))
                self.cpu = cpu
            mask = bits << 16 | below
            masks = loop.masks
            if mask in masks:
                masks[mask] += 1
            else:
                masks[mask] = 1
            loop.last = now
            if self.what != loop.what:
                loop.what = self.what
                loop.changes += 1
            outer = self.outer
            if outer is not None:
                outer.below |= bits | below
                outer.end = now
                outer.giver = 0
                loop.outer = outer.loop
        self.start = self.end = now
        self.bits = self.below = self.first = 0
        self.void = False

    def is_over(self) -> bool:
        """Whether the loop found its data at an end, and did nothing since."""
        return self.void and not self.below and not self.bits & ~IDLE

    def close(self) -> None:
        """Ends the turn for good, when the last thing in it ended."""
        if not self.below and not self.bits & ~IDLE and self.loop.did(~IDLE) >= _MOSTLY:
            self.void = True  # it was left before it did what its turns do
        self.again(self.end)
