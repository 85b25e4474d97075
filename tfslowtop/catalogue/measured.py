"""What scenarios measured on this machine the last time, kept between two starts of tfslowtop.

Nothing depends on it: a file that cannot be read or written is as good as none.
"""

from __future__ import annotations

import json
import math
import os
import platform
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

#: Bounds: scenarios that are kept, characters of a text, points of a curve, and bytes of the file.
_MOST, _LONGEST, _POINTS, _LARGEST = 200, 100, 24, 1 << 18


@dataclass(frozen=True, slots=True)
class Measured:
    """The fixed version against the slow one, at the default parameters."""

    ratio: float
    """Time of an iteration, slow divided by fixed."""
    low: float
    high: float
    before: float
    """Seconds of an iteration."""
    after: float
    leak: str = ""
    """How memory grew without the fix, in words; empty if it did not."""
    curve: tuple[float, ...] = ()
    """Latency over the last minute of the run, from the slow version to the fixed one."""
    at: float = 0.0
    """When, in seconds since the epoch."""


def state_file() -> Path:
    """Return where it is kept."""
    home = os.environ.get("XDG_STATE_HOME", "")
    base = Path(home) if home.startswith("/") else Path.home() / ".local" / "state"
    return base / "tfslowtop" / "measured.json"


def this_machine() -> str:
    """Return what tells machines apart that share a home directory."""
    return f"{platform.node()}, {os.cpu_count()} CPUs"


def read_measured(file: Path) -> dict[str, Measured]:
    """Return what was measured on this machine, by scenario."""
    return _parse(_read(file).get(this_machine()))


def write_measured(file: Path, new: Mapping[str, Measured]) -> None:
    """Add these measurements to the file, or replace those of the same scenarios."""
    try:
        machines = _read(file)
        kept = {**_parse(machines.get(this_machine())), **new}
        newest = sorted(kept, key=lambda id: kept[id].at)[-_MOST:]
        mine = {id: asdict(kept[id]) for id in newest}
        others = {name: machines[name] for name in list(machines)[-9:] if name != this_machine()}
        text = json.dumps({**others, this_machine(): mine})
        if len(text) > _LARGEST:
            text = json.dumps({this_machine(): mine})
        _replace(file, text)
    except (OSError, ValueError, TypeError, RuntimeError):
        pass  # it is a convenience


def _replace(file: Path, text: str) -> None:
    """Write the file as a whole: whoever reads it meanwhile gets the old one."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=".measured-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as temporary:
            temporary.write(text)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _read(file: Path) -> dict[str, object]:
    try:
        if not file.is_file() or file.stat().st_size > _LARGEST:
            return {}
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _parse(machine: object) -> dict[str, Measured]:
    """Return what is well-formed of the measurements of one machine."""
    if not isinstance(machine, dict):
        return {}
    found = {id: _parse_one(values) for id, values in machine.items() if isinstance(values, dict)}
    return {str(id): measured for id, measured in found.items() if measured is not None}


def _parse_one(values: Mapping[str, object]) -> Measured | None:
    try:
        known = {f.name: values[f.name] for f in fields(Measured)}
        curve = tuple(float(value) for value in list(known["curve"])[:_POINTS])  # type: ignore[call-overload]
        numbers = {name: float(known[name]) for name in ("ratio", "low", "high", "before", "after", "at")}  # type: ignore[arg-type]
        sound = all(map(math.isfinite, (*numbers.values(), *curve))) and numbers["ratio"] > 0
        if not sound or numbers["at"] > time.time() + 86400:
            return None
        return Measured(**numbers, leak=str(known["leak"])[:_LONGEST], curve=curve)
    except (KeyError, TypeError, ValueError):
        return None
