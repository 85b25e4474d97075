"""What repeats: loops of the user's code and other things with turns, and what each turn did."""

from __future__ import annotations

import time

from .buffer import Buffer

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

#: Reading the CPU clock of the process is a system call: only turns at least this long are worth it.
_CPU_FROM = 4_000_000


class Loop:
    """One thing that repeats. Its turns go to a buffer; what they did is counted by kind of turn."""

    __slots__ = (
        "bits",
        "buffer",
        "changes",
        "entries",
        "file",
        "generator",
        "header",
        "kind",
        "last",
        "line",
        "main",
        "masks",
        "name",
        "order",
        "outer",
        "stream",
        "what",
    )

    def __init__(self, kind: str, name: str, file: str, line: int) -> None:
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
        self.order = 0

    @property
    def count(self) -> int:
        return self.buffer.head

    def did(self, bits: int, *, own: bool = False) -> float:
        """The share of turns that did one of these things, in the loop's own body or anywhere inside."""
        masks = dict(self.masks)
        every = sum(masks.values())
        hits = sum(n for mask, n in masks.items() if (mask >> 16 if own else mask >> 16 | mask) & bits)
        return hits / every if every else 0.0


class Turn:
    """One iteration on its way."""

    __slots__ = ("below", "bits", "cpu", "end", "first", "loop", "outer", "start", "void", "what")

    def __init__(self, loop: Loop, start: int, outer: Turn | None, cpu: int = 0) -> None:
        self.loop, self.start, self.outer, self.cpu = loop, start, outer, cpu
        self.end = start
        self.bits = self.below = 0
        self.void = False
        self.what = 0
        """Which function the turn called last, by id."""
        self.first = 0
        """Which one the first turn of a loop inside called."""

    def close(self, end: int) -> int:
        """Ends the turn; what the CPU clock says now, if it was read."""
        loop, bits, outer = self.loop, self.bits, self.outer
        if not self.below and (not bits or (self.void and not bits & ~DATA)):
            return 0  # nothing came to pass: the round that only found the data at an end
        wall = end - self.start
        cpu = time.process_time_ns() if wall >= _CPU_FROM else 0
        loop.buffer.put((self.start, wall, cpu - self.cpu if cpu and self.cpu else 0))
        mask = bits << 16 | self.below
        loop.masks[mask] = loop.masks.get(mask, 0) + 1
        loop.last = end
        if self.what != loop.what:
            loop.what = self.what
            loop.changes += 1
        if outer is not None:
            outer.below |= bits | self.below
            if outer.end < end:
                outer.end = end
            loop.outer = outer.loop
        return cpu
