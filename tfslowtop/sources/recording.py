"""A recorded run: everything a session was fed, with the time it arrived, to be read or watched again.

A recording is gzip'd JSON lines. The first line is the header: `format`, `version` and facts about the run.
Every other line holds one event, `{"came": 1200, "kind": "Note", "event": {"text": "hello"}}`, with all times
in microseconds since the recording began. Fields have names, so an event may gain a field and old recordings
stay readable: unknown kinds and fields are skipped, and missing fields take their default. Raise `VERSION`
only for a change that this rule does not cover.
"""

from __future__ import annotations

import gzip
import json
import struct
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, cast, get_args, get_origin, get_type_hints

from ..agent.protocol.events import SAMPLE, Command, Ended, Event, Samples
from ..state.readings import KnownGpus, Reading, Sensed
from .source import SourceError

FORMAT = "tfslowtop recording"
VERSION = 1

_KINDS: dict[str, type] = {kind.__name__: kind for kind in (*get_args(Event), Sensed, KnownGpus)}
_HINTS: dict[type, dict[str, Any]] = {}
#: Fields that hold a point in time, whatever the event.
_TIMES = frozenset({"at", "start", "end", "until"})
_MICROSECOND = 1000


@dataclass(frozen=True, slots=True)
class Record:
    """One event and when it came, in nanoseconds."""

    at: int
    event: Event | Reading


@dataclass(frozen=True, slots=True)
class Recording:
    records: tuple[Record, ...]
    facts: dict[str, Any] = field(default_factory=dict)
    """The rest of the header: what was run, and with what."""


def write_recording(path: Path, records: Sequence[Record], **facts: object) -> None:
    """Write records in the order in which they came; `facts` go into the header."""
    begin = min((record.at for record in records), default=0)
    header = {"format": FORMAT, "version": VERSION, **facts}
    lines = [header, *(_to_line(record, begin) for record in records)]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    # No file name and no time in the file: the same run gives the same bytes.
    path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


def read_recording(path: Path, begin: int = 0) -> Recording:
    """Read a recording as if it had begun at `begin`; `SourceError` says why it cannot be read."""
    records, facts = list[Record](), dict[str, Any]()
    number = 0
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for number, text in enumerate(file, 1):
                line = json.loads(text)
                if number == 1:
                    facts = _read_header(path, line)
                elif line["kind"] in _KINDS:
                    records.append(_from_line(line, begin))
    except OSError as error:
        reason = error.strerror or "it is not gzip-compressed"
        raise SourceError(f"{path} could not be read: {reason}.") from error
    except (EOFError, zlib.error) as error:
        raise SourceError(f"{path} is damaged: its compressed data ends early or is corrupt.") from error
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError, struct.error) as error:
        raise SourceError(f"{path} is not a readable recording: line {number}: {error}.") from error
    if not number:
        raise SourceError(f"{path} is empty.")
    return Recording(tuple(records), facts)


def _read_header(path: Path, header: Any) -> dict[str, Any]:
    if type(header) is not dict or header.get("format") != FORMAT:
        raise SourceError(f"{path} is not a recording of tfslowtop.")
    version = header.get("version")
    if type(version) is not int or version > VERSION:
        raise SourceError(f"{path} was written by a newer tfslowtop; update this one to read it.")
    return {name: value for name, value in header.items() if name not in ("format", "version")}


def _to_line(record: Record, begin: int) -> dict[str, Any]:
    event = record.event
    packed = _samples_to_fields(event, begin) if isinstance(event, Samples) else _to_fields(event, begin)
    return {"came": _to_file(record.at, begin), "kind": type(event).__name__, "event": packed}


def _from_line(line: dict[str, Any], begin: int) -> Record:
    kind, values = _KINDS[line["kind"]], line["event"]
    event = _samples_from_fields(values, begin) if kind is Samples else _from_fields(kind, values, begin)
    return Record(_from_file(line["came"], begin), event)


def _to_file(at: int, begin: int) -> int:
    return (at - begin) // _MICROSECOND


def _from_file(at: Any, begin: int) -> int:
    return begin + _MICROSECOND * cast(int, _checked(int, at))


def _to_fields(value: Any, begin: int) -> dict[str, Any]:
    return {f.name: _to_value(f.name, getattr(value, f.name), begin) for f in fields(value)}


def _to_value(name: str, value: Any, begin: int) -> Any:
    if name in _TIMES:
        return _to_file(value, begin)
    if isinstance(value, tuple):
        return [_to_value("", part, begin) for part in value]
    return _to_fields(value, begin) if is_dataclass(value) else value


def _from_fields(kind: type, values: Any, begin: int) -> Any:
    if type(values) is not dict:
        raise TypeError(f"{kind.__name__} is {type(values).__name__}, not an object")
    if kind not in _HINTS:
        _HINTS[kind] = get_type_hints(kind)
    hints, known = _HINTS[kind], dict[str, Any]()
    for f in fields(kind):
        if f.name in values:
            known[f.name] = _from_value(f.name, hints[f.name], values[f.name], begin)
        elif f.default is MISSING and f.default_factory is MISSING:
            raise TypeError(f"{kind.__name__} lacks {f.name}")
    return kind(**known)


def _from_value(name: str, hint: Any, value: Any, begin: int) -> Any:
    if name in _TIMES:
        return _from_file(value, begin)
    if is_dataclass(hint):
        return _from_fields(cast(type, hint), value, begin)
    if get_origin(hint) is tuple:
        return tuple(_from_value("", get_args(hint)[0], part, begin) for part in _checked(list, value))
    return _checked(hint, value)


def _checked(hint: Any, value: Any) -> Any:
    """Return a value of exactly this type (bool is not an int here); of `X | None`, either."""
    hint = getattr(hint, "__supertype__", hint)  # a name is a string in the file
    allowed = get_args(hint) or (hint,)
    if type(value) in allowed or (float in allowed and type(value) is int):
        return float(value) if float in allowed and value is not None else value
    raise TypeError(f"expected {getattr(hint, '__name__', hint)}, got {type(value).__name__}")


def _samples_to_fields(event: Samples, begin: int) -> dict[str, Any]:
    """Return columns instead of packed bytes, with each start as the distance from the one before it."""
    samples = list(SAMPLE.iter_unpack(event.packed))
    starts = [_to_file(start, begin) for start, _, _ in samples]
    # Rounded up: what took time must not become 0, which means "not read".
    wall, cpu = ([-(-sample[i] // _MICROSECOND) for sample in samples] for i in (1, 2))
    after = [b - a for a, b in zip([0, *starts], starts, strict=False)]
    return {"stream": event.stream, "first": event.first, "start_after": after, "wall": wall, "cpu": cpu}


def _samples_from_fields(values: Any, begin: int) -> Samples:
    if type(values) is not dict:
        raise TypeError(f"Samples is {type(values).__name__}, not an object")
    packed, start = [], begin
    for after, wall, cpu in zip(values["start_after"], values["wall"], values["cpu"], strict=True):
        start += _MICROSECOND * _checked(int, after)
        packed.append(SAMPLE.pack(start, _MICROSECOND * wall, _MICROSECOND * cpu))
    return Samples(_checked(int, values["stream"]), _checked(int, values["first"]), b"".join(packed))


class RecordingSource:
    """A recording as a source: at its original pace, or all of it at once.

    Times are shifted to now. Played at once, the run ends now; otherwise it begins now.
    """

    pid: int | None = None
    """None: the process is gone, and the sensors' readings are in the recording."""

    def __init__(self, path: Path, *, at_once: bool = False) -> None:
        self._path, self._at_once = path, at_once
        self._waiting: Iterator[Record] = iter(())
        self._next: Record | None = None
        self._stopped = False

    def start(self) -> None:
        lasted = max((r.at for r in read_recording(self._path).records), default=0) if self._at_once else 0
        begin = time.perf_counter_ns() - lasted
        records = read_recording(self._path, begin).records
        # Every source ends; a recording that was cut off does not say how.
        last = max((r.at for r in records), default=begin)
        end = Record(last, Ended(0, "The recording ends here.", last))
        ends = any(isinstance(r.event, Ended) for r in records)
        self._waiting = iter((*records, *(() if ends else (end,))))
        self._next = next(self._waiting, None)

    def rest(self, seconds: float) -> bool:
        time.sleep(0.0 if self._due() else seconds)
        return False

    def _due(self) -> bool:
        return self._next is not None and (
            self._at_once or self._stopped or self._next.at <= time.perf_counter_ns()
        )

    def events(self, timeout: float) -> Sequence[Event | Reading]:
        if self._next is not None and not self._due():
            time.sleep(min(timeout, max(0.0, (self._next.at - time.perf_counter_ns()) / 1e9)))
        came = list[Event | Reading]()
        while self._next is not None and self._due():
            came.append(self._next.event)
            self._next = None if isinstance(self._next.event, Ended) else next(self._waiting, None)
        return came

    def send(self, command: Command) -> None:
        """Do nothing: the run is over."""

    def stop(self) -> None:
        self._stopped = True

    def close(self) -> None:
        self._next = None


def batches(records: Iterable[Record], seconds: float) -> Iterator[tuple[int, list[Event | Reading]]]:
    """Yield what has come by each of these times, as a watcher would receive it."""
    records = sorted(records, key=lambda r: r.at)
    step, last = int(seconds * 1e9), records[0].at if records else 0
    batch = list[Event | Reading]()
    for record in records:
        while record.at > last + step:
            last += step
            yield last, batch
            batch = []
        batch.append(record.event)
    yield last + step, batch
