"""Words that all headless output shares."""

from __future__ import annotations

#: Python's name for code outside of any function.
TOP_LEVEL = "<module>"


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 trace`, `1,204 traces`, `2 fixes`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {plural or f'{noun}s'}"


def times(count: int) -> str:
    """Return how often something happened: `once`, `1,204 times`."""
    return "once" if count == 1 else f"{count:,} times"


def readable(text: str) -> str:
    """Replace Python's name for code outside of any function by what people call it."""
    return text.replace(TOP_LEVEL, "top level")
