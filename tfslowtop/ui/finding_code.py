"""The code of a finding: its file and the change that it proposes. A thread reads it once for all screens."""

from __future__ import annotations

import linecache
from dataclasses import dataclass

from textual.message import Message

from ..agent.code.source_lines import source_lines
from ..diagnosis.finding import Finding
from ..export.findings import describe_change, find_change


@dataclass(frozen=True, slots=True)
class FindingCode:
    """A finding's file and the change that it proposes."""

    lines: tuple[str, ...] = ()
    change: str = ""
    """The change, or the cause's example where the user's own lines cannot be rewritten."""
    before: str = ""
    """The user's lines that the change replaces; empty where it cannot be written."""
    after: str = ""

    @classmethod
    def of(cls, f: Finding) -> FindingCode:
        """Read the file and rewrite the code. That takes milliseconds: never do it on the UI thread."""
        if f.file:
            linecache.checkcache(f.file)  # it may have been edited since the last run
        change = find_change(f)
        sides = (change.before, change.after) if change else ("", "")
        return cls(tuple(source_lines(f.file)) if f.file else (), describe_change(f, change), *sides)

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
