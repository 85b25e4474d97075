"""The recordings of the corpus: kept small, without paths of the machine they were made on."""

from __future__ import annotations

import functools
import linecache
import sys
from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from paths import CORPUS

from tfslowtop.agent.protocol.events import Samples
from tfslowtop.agent.sender import _Fold
from tfslowtop.sources.recording import Record, read_recording, write_recording

SUFFIX = ".jsonl.gz"
#: More samples than this in one batch are folded, as the agent folds them for a slow watcher.
MANY = 64
#: Nothing begins at 0 in a replay: 0 is "never" to the session.
_BEGIN = 10**9
_PLACES = ((str(CORPUS), "/corpus"), (sys.prefix, "/env"), (sys.base_prefix, "/python"))


def save(path: Path, records: Iterable[Record], error: str = "") -> None:
    script = path.name.removesuffix(SUFFIX) + ".py"
    kept = [Record(r.at, with_paths(_folded(r.event), _PLACES)) for r in records]
    write_recording(path, kept, script=script, error=error, python=sys.version.split()[0])


def load(path: Path) -> tuple[tuple[Record, ...], str]:
    """What came, and with what error the script ended."""
    know_sources()
    recording = read_recording(path, _BEGIN)
    return recording.records, recording.facts["error"]


def _folded(event: Any) -> Any:
    if not isinstance(event, Samples) or len(event) <= MANY:
        return event
    fold = _Fold()
    fold.add(event.first, event.packed)
    return fold.event(event.stream)


def with_paths(value: Any, places: Iterable[tuple[str, str]]) -> Any:
    """An event with other paths: each `(path, instead)` in every text of it."""
    if isinstance(value, tuple):
        return tuple(with_paths(part, places) for part in value)
    if is_dataclass(value):
        return replace(value, **{f.name: with_paths(getattr(value, f.name), places) for f in fields(value)})  # type: ignore[type-var]
    if isinstance(value, str):
        for place, instead in places:
            value = value.replace(place, instead)
    return value


@functools.cache
def know_sources() -> None:
    """Let rules that read the user's file find those of the corpus under the paths of recordings."""
    for file in CORPUS.rglob("*.py"):
        name = f"/corpus/{file.relative_to(CORPUS).as_posix()}"
        lines = file.read_text().splitlines(keepends=True)
        linecache.cache[name] = (sum(map(len, lines)), None, lines, name)
