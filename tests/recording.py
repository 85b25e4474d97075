"""A recorded run: all that the agent and the sensors said of a script, each with the time at which it came.

One compressed file of JSON lines per script, some kilobytes each: a header, then `[when, kind, fields ...]`.
Times are microseconds since the start; paths of this machine are not in it. Batches of many samples are
folded as the agent folds them for a slow watcher.
"""

from __future__ import annotations

import json
import lzma
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from tfslowtop.agent import events
from tfslowtop.agent.agent import _Fold
from tfslowtop.agent.events import SAMPLE, Event, Reason, Samples

HERE = Path(__file__).parent
RECORDINGS = HERE / "recordings"
#: More samples than this in one batch are folded.
MANY = 64
#: Nothing begins at 0 in a replay: 0 is "never" to the session.
_BEGIN = 10**9
_TIMES = {"at", "start", "end"}
_PLACES = ((str(HERE / "corpus"), "/corpus"), (sys.prefix, "/env"), (sys.base_prefix, "/python"))


@dataclass(frozen=True)
class Record:
    at: int
    """When it came, in nanoseconds."""
    event: Event


def save(path: Path, records: Iterable[Record], error: str = "") -> None:
    records = list(records)
    begin = min(r.at for r in records)
    lines = [json.dumps({"error": error, "python": sys.version.split()[0]})]
    lines += [json.dumps(_out(r, begin), separators=(",", ":")) for r in records]
    path.write_bytes(lzma.compress("\n".join(lines).encode(), preset=9 | lzma.PRESET_EXTREME))


def load(path: Path) -> tuple[list[Record], str]:
    header, *lines = lzma.decompress(path.read_bytes()).decode().splitlines()
    return [_in(json.loads(line)) for line in lines], json.loads(header)["error"]


def _out(record: Record, begin: int) -> list[Any]:
    event, when = record.event, (record.at - begin) // 1000
    if isinstance(event, Samples) and len(event) > MANY:
        fold = _Fold()
        fold.add(event.first, event.packed)
        event = fold.event(event.stream)
    if isinstance(event, Samples):
        samples = list(SAMPLE.iter_unpack(event.packed))
        columns = [[(s - begin) // 1000 for s, _, _ in samples]]
        columns += [[-(-sample[i] // 1000) for sample in samples] for i in (1, 2)]  # what took time is not 0
        starts = columns[0]
        columns[0] = [b - a for a, b in zip([0, *starts], starts, strict=False)]
        return [when, "Samples", event.stream, event.first, *columns]
    values = [(f.name, getattr(event, f.name)) for f in fields(event)]
    return [when, type(event).__name__, *(_value(name, value, begin) for name, value in values)]


def _value(name: str, value: Any, begin: int) -> Any:
    if name in _TIMES and isinstance(value, int):
        return (value - begin) // 1000
    if isinstance(value, tuple):
        return [_value("", part, begin) for part in value]
    if isinstance(value, Reason):
        return [value.argument, value.cause, value.before, value.after]
    if isinstance(value, str):
        for place, instead in _PLACES:
            value = value.replace(place, instead)
    return value


def _in(line: list[Any]) -> Record:
    when, name, *values = line
    at = _BEGIN + 1000 * when
    if name == "Samples":
        stream, first, starts, walls, cpus = values
        packed, start = b"", _BEGIN
        for delta, wall, cpu in zip(starts, walls, cpus, strict=True):
            start += 1000 * delta
            packed += SAMPLE.pack(start, 1000 * wall, 1000 * cpu)
        return Record(at, Samples(stream, first, packed))
    kind = getattr(events, name)
    names = [f.name for f in fields(kind)]
    parsed = [_parsed(field, value) for field, value in zip(names, values, strict=True)]
    return Record(at, kind(*parsed))


def _parsed(name: str, value: Any) -> Any:
    if name in _TIMES and isinstance(value, int):
        return _BEGIN + 1000 * value
    if name == "reasons":
        return tuple(Reason(*reason) for reason in value)
    return tuple(value) if isinstance(value, list) else value


def batches(records: list[Record], seconds: float) -> Iterator[tuple[int, list[Event]]]:
    """What has come by each of these times, as a watcher would meet it."""
    step, at = int(seconds * 1e9), records[0].at
    last, batch = at, list[Event]()
    for record in sorted(records, key=lambda r: r.at):
        while record.at > last + step:
            last += step
            yield last, batch
            batch = []
        batch.append(record.event)
    yield last + step, batch
