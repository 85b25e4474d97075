"""The wire form of the vocabulary: versioned, framed, bounded. No pickle.

A frame is a length, a kind and a payload of at most `MAX_PAYLOAD` bytes. Samples are packed binary, because
there are many; everything else is rare and travels as a JSON array of the fields, which a person can read.
What does not parse exactly is refused with one sentence: a `WireError` ends the connection.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any, get_type_hints

from . import events
from .events import SAMPLE, Message, Samples

PROTOCOL = 3
MAX_PAYLOAD = 1 << 20

#: Samples per frame, so that a full frame stays well under the limit.
MAX_SAMPLES = 8192

_HEADER = struct.Struct("!IB")
_SAMPLES = struct.Struct("!IQ")


class WireError(Exception):
    """What came over the wire is not ours. The message is one sentence for the screen."""


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
    events.Step,
    events.ChooseStep,
    events.Detach,
)
_NUMBER = {kind: number for number, kind in enumerate(_KINDS)}
_FIELDS = {kind: tuple(f.name for f in fields(kind)) for kind in _KINDS}


def _exactly(kind: type) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if type(value) is not kind:  # bool is an int to isinstance
            raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")
        return value

    return check


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise TypeError(f"expected a number, got {type(value).__name__}")
    return float(value)


def _tuple_of(item: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if type(value) is not list:
            raise TypeError(f"expected a list, got {type(value).__name__}")
        return tuple(item(v) for v in value)

    return check


def _reason(value: Any) -> events.Reason:
    if type(value) is not list or len(value) != 4:
        raise TypeError("expected a reason of 4 fields")
    return events.Reason(*(_exactly(str)(v) for v in value))


_CHECKS: dict[Any, Callable[[Any], Any]] = {
    int: _exactly(int),
    str: _exactly(str),
    bool: _exactly(bool),
    float: _number,
    tuple[events.Reason, ...]: _tuple_of(_reason),
    tuple[str, ...]: _tuple_of(_exactly(str)),
    tuple[int, ...]: _tuple_of(_exactly(int)),
}
_PARSERS = {
    kind: tuple(_CHECKS[get_type_hints(kind)[name]] for name in _FIELDS[kind])
    for kind in _KINDS
    if kind is not Samples
}


def _fields(value: Any) -> list[str]:
    """The fields of a dataclass inside a message."""
    if not isinstance(value, events.Reason):
        raise TypeError(f"{type(value).__name__} does not travel")
    return [value.argument, value.cause, value.before, value.after]


def encode(message: Message) -> bytes:
    """One frame. A message too large for a frame is a mistake of the sender's: `ValueError`."""
    kind = type(message)
    if isinstance(message, Samples):
        payload = _SAMPLES.pack(message.stream, message.first) + message.packed
    else:
        payload = json.dumps([getattr(message, name) for name in _FIELDS[kind]], default=_fields).encode()
    if len(payload) > MAX_PAYLOAD:
        raise ValueError(f"{kind.__name__} of {len(payload)} bytes is over the frame limit")
    return _HEADER.pack(len(payload), _NUMBER[kind]) + payload


def _decode(number: int, payload: bytes) -> Message:
    if number >= len(_KINDS):
        raise WireError(f"The target sent a frame of the unknown kind {number}.")
    kind = _KINDS[number]
    if kind is Samples:
        body = len(payload) - _SAMPLES.size
        if body < 0 or body % SAMPLE.size:
            raise WireError(
                f"The target sent a batch of samples with a broken length ({len(payload)} bytes)."
            )
        stream, first = _SAMPLES.unpack_from(payload)
        return Samples(stream, first, payload[_SAMPLES.size :])
    parsers = _PARSERS[kind]
    try:
        values = json.loads(payload)
        if type(values) is not list or len(values) != len(parsers):
            raise TypeError(f"expected {len(parsers)} fields")
        message: Message = kind(*(parse(value) for parse, value in zip(parsers, values, strict=True)))
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise WireError(f"The target sent a {kind.__name__} that does not parse: {error}.") from error
    return message


class Decoder:
    """Takes bytes as they come, gives messages as they complete."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        """Yields each complete message; raises `WireError` at the first frame that is not ours."""
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
                yield _decode(number, payload)
        finally:
            del self._buffer[:start]
