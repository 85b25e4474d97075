"""The code of a finding: its file and the change that it proposes. A thread reads it once for all screens."""

from __future__ import annotations

import linecache
from dataclasses import dataclass

from textual.message import Message

from ..agent.code.source_lines import source_lines
from ..diagnosis.finding import Finding
from ..diagnosis.rewriting.patch import apply_change, unified_diff
from ..export.findings import find_change, patch_name


@dataclass(frozen=True, slots=True)
class FindingCode:
    """A finding's file and the change that it proposes."""

    lines: tuple[str, ...] = ()
    before: str = ""
    """The user's lines that the change replaces; empty where it cannot be written."""
    after: str = ""
    patch: str = ""
    """The change as a unified diff of the user's file; empty where it would not be complete."""

    @classmethod
    def of(cls, f: Finding) -> FindingCode:
        """Read the file and rewrite the code. That takes milliseconds: never do it on the UI thread."""
        if not f.file:
            return cls()
        linecache.checkcache(f.file)  # it may have been edited since the last run
        lines = tuple(source_lines(f.file))
        change = find_change(f)
        if change is None:
            return cls(lines)
        changed = apply_change(change, lines, f.line)
        patch = unified_diff(lines, changed, patch_name(f.file)) if changed is not None else ""
        return cls(lines, change.before, change.after, patch)

    @property
    def first_difference(self) -> tuple[str, str]:
        """The first line that the change replaces, before and after; empty where there is no such line."""
        before, after = self.before.splitlines(), self.after.splitlines()
        for old, new in zip(before, after, strict=False):
            if old != new:
                return old.strip(), new.strip()
        return "", ""


#: What the code of a finding depends on.
CodeKey = tuple[object, ...]
CodeCache = dict[CodeKey, FindingCode]


def code_key(f: Finding) -> CodeKey:
    """Return what identifies the change: a finding's numbers change all the time, this does not."""
    return (*f.key, f.symbol, f.evidence.get("argument"), f.evidence.get("function_file"))


class CodeWanted(Message):
    """A screen needs the code of a finding."""

    def __init__(self, finding: Finding) -> None:
        super().__init__()
        self.finding = finding


class CodeRead(Message):
    """A worker thread has read and rewritten the code of a finding."""

    def __init__(self, key: CodeKey, code: FindingCode) -> None:
        super().__init__()
        self.key = key
        self.code = code
