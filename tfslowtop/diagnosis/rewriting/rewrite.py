"""Rewrites the user's code for a finding, where the change follows from the syntax."""

from __future__ import annotations

from ..finding import Finding
from ..registry import causes
from .statement import Change, find_statement


def rewritten(finding: Finding, source: str) -> Change | None:
    """Return the change for a finding; `source` is the text of the file it names."""
    make_change = causes()[finding.cause].change
    statement = find_statement(source, finding.line) if make_change is not None else None
    if make_change is None or statement is None:
        return None
    change = make_change(statement, finding)
    return change if change is not None and change.before != change.after else None
