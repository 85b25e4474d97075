"""Writes docs/causes.md from the registry: `python -m tfslowtop.diagnosis.document > docs/causes.md`."""

from __future__ import annotations

from collections.abc import Iterator

from .cause import Area, Cause
from .registry import causes

#: Causes that are named as explanations of another one.
_MOST_LINKS = 7
_INTRODUCTION = """\
# Causes

<!-- Generated from tfslowtop/diagnosis/causes/ by `make docs`. Do not edit. -->

This is what tfslowtop can find. Each finding names one of these causes, the line of your code, and what it costs.
`tfslowtop help CAUSE` prints the same text in the terminal."""


def document() -> str:
    """Return the page: a table of all causes, then each of them in full."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield from (_INTRODUCTION, "", "| cause | what is going on |", "|---|---|")
    for cause in causes().values():
        yield f"| [{cause.id}](#{cause.id}) | {cause.headline} |"
    for area in Area:
        yield from ("", f"## {area.value}")
        for cause in causes().values():
            if cause.area is area:
                yield from _section(cause)
    yield ""


def _section(cause: Cause) -> Iterator[str]:
    yield from ("", f"### {cause.id}", "", f"**{cause.headline}.** {cause.mechanism}", "", cause.advise(), "")
    before, after = cause.example_parts()
    fence = "```" if cause.is_machines else "```python"
    if before:
        yield from ("Before:", "", fence, before, "```", "", "After:", "")
    yield from (fence, after, "```")
    if cause.scenario:
        yield from ("", f"To see it happen, run `tfslowtop {cause.scenario}`.")
    if cause.explained_by:
        yield from ("", f"It can be a symptom of {_others(cause)}, and is then listed under that finding.")


def _others(cause: Cause) -> str:
    """Return links to the causes that may explain another one, unless they are too many to help the reader."""
    if len(cause.explained_by) > _MOST_LINKS:
        return "another cause"
    *others, last = (f"[{other}](#{other})" for other in cause.explained_by)
    return f"{', '.join(others)} or {last}" if others else last


if __name__ == "__main__":
    print(document(), end="")
