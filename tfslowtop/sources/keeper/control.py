"""Frames from a watcher to a keeper, with kinds of their own, besides the commands for the agent."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from ...agent.protocol.wire import MAX_PAYLOAD

#: As in the agent's wire: length and kind.
HEADER = struct.Struct("!IB")

#: Kinds from here on are for the keeper; the wire's own count up from 0.
SIGNAL, TYPE, RESIZE = 200, 201, 202
FIRST = SIGNAL

_SIZE = struct.Struct("!HH")


def frame(kind: int, payload: bytes) -> bytes:
    return HEADER.pack(len(payload), kind) + payload


def signal_frame(number: int) -> bytes:
    return frame(SIGNAL, bytes([number]))


def resize_frame(rows: int, columns: int) -> bytes:
    return frame(RESIZE, _SIZE.pack(rows, columns))


def parse_size(payload: bytes) -> tuple[int, int]:
    rows, columns = _SIZE.unpack(payload)
    return rows, columns


class Frames:
    """Splits a stream into whole frames without decoding them. `ValueError` for what cannot be ours."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield the kind, and the frame with its header."""
        self._buffer += data
        while len(self._buffer) >= HEADER.size:
            length, kind = HEADER.unpack_from(self._buffer)
            if length > MAX_PAYLOAD:
                raise ValueError(f"a frame of {length} bytes")
            end = HEADER.size + length
            if len(self._buffer) < end:
                return
            whole = bytes(self._buffer[:end])
            del self._buffer[:end]
            yield kind, whole
