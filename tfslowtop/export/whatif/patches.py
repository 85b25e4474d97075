"""The texts of the user's files, and the changes of findings applied to them."""

from __future__ import annotations

import io
import linecache
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ...diagnosis.finding import Finding
from ...diagnosis.rewriting.patch import apply_change, unified_diff
from ...diagnosis.rewriting.rewrite import rewritten
from ..findings import patch_name


@dataclass(slots=True)
class Texts:
    """Files of the user's, some of them changed."""

    changed: dict[str, list[str]] = field(default_factory=dict)
    _read: dict[str, list[str]] = field(default_factory=dict)

    def lines(self, file: str) -> list[str]:
        """Return the lines as they are now, with their line ends; none where the file is not UTF-8 text."""
        if file in self.changed:
            return self.changed[file]
        return self.original(file)

    def original(self, file: str) -> list[str]:
        if file not in self._read:
            self._read[file] = _read(file)
        return self._read[file]

    def with_change(self, f: Finding) -> Texts | None:
        """Return the texts with the change that a finding advises, or None where it cannot be written."""
        lines = self.lines(f.file) if f.file else []
        ends = "\r\n" if any(line.endswith("\r\n") for line in lines) else "\n"
        plain = [line.replace("\r\n", "\n") for line in lines]
        change = rewritten(f, "".join(plain)) if plain else None
        after = apply_change(change, plain, f.line) if change is not None else None
        if after is None:
            return None
        if ends != "\n":
            after = [line.replace("\n", ends) for line in after]
        return Texts({**self.changed, f.file: after}, self._read)

    def diff(self, before: Texts | None = None) -> str:
        """Return the change since `before`, or since the original, as a patch."""
        parts = []
        for file in sorted(self.changed):
            old = before.lines(file) if before is not None else self.original(file)
            if old != self.changed[file]:
                parts.append(unified_diff(old, self.changed[file], patch_name(file)))
        return "".join(parts)

    @property
    def encoded(self) -> Mapping[str, bytes]:
        return {file: "".join(lines).encode() for file, lines in self.changed.items()}


def _read(file: str) -> list[str]:
    linecache.checkcache(file)
    try:
        data = Path(file).read_bytes()
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        if encoding != "utf-8":
            return []
        return list(io.StringIO(data.decode(), newline=""))
    except (OSError, SyntaxError, UnicodeDecodeError):
        return []
