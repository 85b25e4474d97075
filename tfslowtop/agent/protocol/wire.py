"""The wire form of events and commands: versioned, framed, bounded. No pickle.

A frame is a length, a kind and a payload of at most `MAX_PAYLOAD` bytes. Samples are packed binary because
there are many; everything else is rare and travels as a JSON array of its fields, which people can read.
Every field has bounds. A frame that does not parse exactly or is out of bounds raises `WireError`, which ends
the connection.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any, get_type_hints

from . import events
from .events import SAMPLE, Message, Samples

#: Raised with every change of kinds or fields: agent and watcher must agree exactly.
PROTOCOL = 7
#: Far more than any event needs; a reader never has to buffer more for one frame.
MAX_PAYLOAD = 1 << 20

#: Samples per frame, so that a full frame stays well under the limit.
MAX_SAMPLES = 8192

#: The highest number of an iteration: above it, a float cannot distinguish neighbours.
MAX_FIRST = 2**53

_HEADER = struct.Struct("!IB")
_SAMPLES = struct.Struct("!IQ")


class WireError(Exception):
    """A frame that is not ours. The message is one sentence for the screen."""


# The position in this tuple is the kind on the wire: append only, or raise PROTOCOL.
_KINDS: tuple[type, ...] = (
    events.Hello,
    events.About,
    events.Phase,
    events.Stream,
    events.Samples,
    events.Folded,
    events.Trace,
    events.Gauge,
    events.Toggled,
    events.Failed,
    events.Lost,
    events.Note,
    events.Output,
    events.Ended,
    events.SetFixes,
    events.Stop,
    events.Block,
    events.SetParams,
    events.Compare,
    events.Tally,
    events.StepChosen,
    events.ChooseStep,
    events.Detach,
    events.Reported,
    events.FixOffered,
    events.FixAnswered,
)
_NUMBER = {kind: number for number, kind in enumerate(_KINDS)}
_FIELDS = {kind: tuple(f.name for f in fields(kind)) for kind in _KINDS}


#: The bounds of a number unless listed below: a count, a line, or a time of any clock.
_COUNT = (0, 2**62 - 1)
_RANGES: dict[tuple[type, str], tuple[int, int]] = {
    (events.Stream, "id"): (0, 2**32 - 1),
    (events.Folded, "stream"): (0, 2**32 - 1),
    (events.Folded, "first"): (0, MAX_FIRST),
    (events.Folded, "count"): (0, MAX_FIRST),
    (events.Failed, "iteration"): (-1, 2**62 - 1),  # -1: before the first
    (events.Block, "arm"): (-1, 1),
    (events.Ended, "code"): (-(2**31), 2**31 - 1),
    (events.ChooseStep, "stream"): (-1, 2**32 - 1),
}
#: The longest text unless listed below: a path has 4096 characters at most.
_TEXT = 4096
_LENGTHS: dict[tuple[type, str], int] = {
    (events.Note, "text"): 8192,
    (events.Failed, "message"): 1 << 15,
    (events.Failed, "traceback"): 1 << 17,
    (events.Output, "text"): MAX_PAYLOAD,
}
#: The longest list, by what it holds.
_ENTRIES = {events.Reason: 64, str: 1024, int: 4096}


class _Int:
    """A whole number within its bounds."""

    def __init__(self, low: int, high: int) -> None:
        self._low, self._high = low, high

    def parse(self, value: Any) -> int:
        if type(value) is not int:  # bool is an int to isinstance
            raise TypeError(f"expected int, got {type(value).__name__}")
        if not self._low <= value <= self._high:
            raise ValueError("a number is out of its range")
        return value

    def fit(self, value: int) -> int:
        return min(max(value, self._low), self._high)


class _Float:
    def parse(self, value: Any) -> float:
        if type(value) not in (int, float):
            raise TypeError(f"expected a number, got {type(value).__name__}")
        return float(value)

    def fit(self, value: float) -> float:
        return value


class _Bool:
    def parse(self, value: Any) -> bool:
        if type(value) is not bool:
            raise TypeError(f"expected bool, got {type(value).__name__}")
        return value

    def fit(self, value: bool) -> bool:
        return value


class _Str:
    """Text of bounded length that any terminal, file and hash can take: no lone surrogates."""

    def __init__(self, most: int) -> None:
        self._most = most

    def parse(self, value: Any) -> str:
        if type(value) is not str:
            raise TypeError(f"expected str, got {type(value).__name__}")
        if len(value) > self._most:
            raise ValueError(f"a text of {len(value)} characters")
        if not value.isascii() and not _is_whole(value):
            raise ValueError("a text with half a character")
        return value

    def fit(self, value: str) -> str:
        if len(value) > self._most:
            value = value[: self._most - 1] + "…"
        # A file name that is not UTF-8 has lone surrogates; the program must be watched all the same.
        return value if value.isascii() or _is_whole(value) else value.encode(errors="replace").decode()


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class _Record:
    """A dataclass inside an event: a list of its fields."""

    def __init__(self, kind: type) -> None:
        hints = get_type_hints(kind)
        self._kind = kind
        self._fields = [(f.name, _field(kind, f.name, hints[f.name])) for f in fields(kind)]

    def parse(self, value: Any) -> Any:
        if type(value) is not list or len(value) != len(self._fields):
            raise TypeError(f"expected a {self._kind.__name__} of {len(self._fields)} fields")
        return self._kind(*(check.parse(part) for (_, check), part in zip(self._fields, value, strict=True)))

    def fit(self, value: Any) -> list[Any]:
        return [check.fit(getattr(value, name)) for name, check in self._fields]


class _Tuple:
    def __init__(self, item: Any, most: int) -> None:
        self._item, self._most = item, most

    def parse(self, value: Any) -> tuple[Any, ...]:
        if type(value) is not list:
            raise TypeError(f"expected a list, got {type(value).__name__}")
        if len(value) > self._most:
            raise ValueError(f"a list of {len(value)} entries")
        return tuple(map(self._item.parse, value))

    def fit(self, value: tuple[Any, ...]) -> list[Any]:
        return [self._item.fit(part) for part in value[: self._most]]


def _field(kind: type, name: str, hint: Any) -> Any:
    """Make the check of one field: `parse` refuses what is out of bounds, `fit` brings it into them."""
    hint = getattr(hint, "__supertype__", hint)  # a name is a string on the wire
    made: dict[Any, Callable[[], Any]] = {
        int: lambda: _Int(*_RANGES.get((kind, name), _COUNT)),
        str: lambda: _Str(_LENGTHS.get((kind, name), _TEXT)),
        bool: _Bool,
        float: _Float,
        tuple[events.Reason, ...]: lambda: _Tuple(_Record(events.Reason), _ENTRIES[events.Reason]),
        tuple[str, ...]: lambda: _Tuple(_Str(_TEXT), _ENTRIES[str]),
        tuple[int, ...]: lambda: _Tuple(_Int(*_COUNT), _ENTRIES[int]),
    }
    return made[hint]()


_CHECKS: dict[type, tuple[Any, ...]] = {
    kind: tuple(_field(kind, name, get_type_hints(kind)[name]) for name in _FIELDS[kind])
    for kind in _KINDS
    if kind is not Samples
}


def encode(message: Message) -> bytes:
    """Encode one frame, which always decodes: values out of bounds are brought into them.

    Raises `ValueError` for a message too large for a frame.
    """
    kind = type(message)
    if isinstance(message, Samples):
        payload = _SAMPLES.pack(message.stream, message.first) + message.packed
    else:
        fitted = [
            check.fit(getattr(message, name))
            for check, name in zip(_CHECKS[kind], _FIELDS[kind], strict=True)
        ]
        payload = json.dumps(fitted, ensure_ascii=False).encode()
    if len(payload) > MAX_PAYLOAD:
        raise ValueError(f"{kind.__name__} of {len(payload)} bytes is over the frame limit")
    return _HEADER.pack(len(payload), _NUMBER[kind]) + payload


def number_of(kind: type) -> int:
    """Return the number of a kind in a frame's header."""
    return _NUMBER[kind]


def decode(number: int, payload: bytes) -> Message:
    """Decode the message in a frame; `WireError` for one that is not ours."""
    if number >= len(_KINDS):
        raise WireError(f"The target sent a frame of the unknown kind {number}.")
    kind = _KINDS[number]
    if kind is Samples:
        body = len(payload) - _SAMPLES.size
        if body < 0 or body % SAMPLE.size or body > MAX_SAMPLES * SAMPLE.size:
            raise WireError(
                f"The target sent a batch of samples with a broken length ({len(payload)} bytes)."
            )
        stream, first = _SAMPLES.unpack_from(payload)
        if first > MAX_FIRST:
            raise WireError("The target sent a batch of samples with an impossible number.")
        return Samples(stream, first, payload[_SAMPLES.size :])
    checks = _CHECKS[kind]
    try:
        values = json.loads(payload)
        if type(values) is not list or len(values) != len(checks):
            raise TypeError(f"expected {len(checks)} fields")
        message: Message = kind(*(check.parse(value) for check, value in zip(checks, values, strict=True)))
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise WireError(f"The target sent a {kind.__name__} that does not parse: {error}.") from error
    return message


class Decoder:
    """Turns a stream of bytes into messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        """Yield each complete message; raise `WireError` at the first frame that is not ours."""
        for number, payload in self.frames(data):
            yield decode(number, payload)

    def frames(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield kind and payload of each complete frame; an incomplete one waits for more data."""
        self._buffer += data
        start = 0
        try:
            while len(self._buffer) - start >= _HEADER.size:
                length, number = _HEADER.unpack_from(self._buffer, start)
                if length > MAX_PAYLOAD:
                    raise WireError(f"The target sent a frame of {length} bytes; the limit is {MAX_PAYLOAD}.")
                end = start + _HEADER.size + length
                if end > len(self._buffer):
                    break
                payload = bytes(self._buffer[start + _HEADER.size : end])
                start = end
                yield number, payload
        finally:
            del self._buffer[:start]
