"""Streams: loops of the user's code and calls of the same thing, and what each iteration did."""

from __future__ import annotations

import time

from ..protocol.names import StreamKind
from ..sample_buffer import SampleBuffer

# What an iteration did, as bits.
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

#: Not work by itself: an iteration that only found its data exhausted, or only read a result, did nothing.
IDLE = DATA | HOST

#: Reading the CPU clock of the process is a system call: it is made for iterations at least this long.
_CPU_FROM = 4_000_000


#: The share of a loop's iterations that says what its iterations do.
_MOSTLY = 0.5


class Stream:
    """Something that repeats. Its samples go to a buffer; what its iterations did is counted."""

    __slots__ = (
        "bits",
        "buffer",
        "calls",
        "changes",
        "entries",
        "file",
        "generator",
        "header",
        "id",
        "item",
        "kind",
        "last",
        "line",
        "main",
        "masks",
        "name",
        "outer",
        "test",
        "what",
    )

    def __init__(self, kind: StreamKind, name: str, file: str, line: int) -> None:
        self.kind, self.name, self.file, self.line = kind, name, file, line
        self.buffer = SampleBuffer()
        self.bits = 0
        """What one call of it does, found out while it was traced."""
        self.id = -1
        self.entries = 0
        self.changes = 0
        """Iterations that called another function than the one before."""
        self.masks: dict[int, int] = {}
        """How many iterations did what: `bits << 16 | bits of the loops inside`."""
        self.outer: Stream | None = None
        self.main = self.generator = False
        self.last = 0
        self.what = 0
        self.header = ""
        self.item = ""
        """The variable that holds the item of the iteration, where it can be read."""
        self.test = -1
        """The instruction that asks for the next item."""
        self.calls = True
        """Whether its body calls anything besides the loops in it."""

    @property
    def count(self) -> int:
        return self.buffer.head

    def did(self, bits: int, *, own: bool = False) -> float:
        """Return the share of iterations that did one of these things, in the loop's own body or anywhere
        inside."""
        masks = dict(self.masks)
        every = sum(masks.values())
        bits &= 0xFFFF
        hits = sum(n for mask, n in masks.items() if (mask >> 16 if own else mask >> 16 | mask) & bits)
        return hits / every if every else 0.0


class Iteration:
    """The current iteration of a stream."""

    __slots__ = (
        "below",
        "bits",
        "cpu",
        "end",
        "first",
        "giver",
        "item",
        "outer",
        "put",
        "start",
        "stream",
        "void",
        "what",
    )

    def __init__(self, stream: Stream, start: int, outer: Iteration | None) -> None:
        self.stream, self.start, self.outer = stream, start, outer
        self.put = stream.buffer.put
        self.end = start
        self.bits = self.below = self.cpu = 0
        self.void = False
        self.what = 0
        """The function that the iteration called last, by id."""
        self.first = 0
        """The function that the first iteration of an inner loop called, by id."""
        self.giver = 0
        """What gave the item first, by id, where it was asked for; RESULT_READ if the last call read a
        result."""
        self.item = 0
        """The item of a `for`, by id: the next one is another object, created while this one still exists."""

    def again(self, now: int) -> None:
        """End the iteration and begin the next one, in place: this is the hot path of every loop."""
        bits, below, start = self.bits, self.below, self.start
        # Otherwise nothing happened: it only found its data exhausted.
        if below or bits & ~IDLE or (bits and not self.void):
            stream = self.stream
            wall = now - start
            if wall < _CPU_FROM:
                self.put((start, wall, 0))
                self.cpu = 0
            else:
                cpu = time.process_time_ns()
                self.put((start, wall, cpu - self.cpu if self.cpu else 0))
                self.cpu = cpu
            mask = bits << 16 | below
            masks = stream.masks
            if mask in masks:
                masks[mask] += 1
            else:
                masks[mask] = 1
            stream.last = now
            if self.what != stream.what:
                stream.what = self.what
                stream.changes += 1
            outer = self.outer
            if outer is not None:
                outer.below |= bits | below
                outer.end = now
                outer.giver = 0
                stream.outer = outer.stream
        self.start = self.end = now
        self.bits = self.below = self.first = 0
        self.void = False

    def is_over(self) -> bool:
        """Whether the loop found its data exhausted, and has done nothing since."""
        return self.void and not self.below and not self.bits & ~IDLE

    def close(self) -> None:
        """End the iteration for good, at the end of the last thing in it."""
        if not self.below and not self.bits & ~IDLE and self.stream.did(~IDLE) >= _MOSTLY:
            self.void = True  # it was left before it did what its iterations do
        self.again(self.end)
