"""All causes, and what each of them means."""

from __future__ import annotations

from .names import CauseId
from .texts import TEXTS, Text


def causes() -> dict[CauseId, Text]:
    """Return every cause by its id, in the order of the documentation."""
    return {CauseId(cause): text for cause, text in TEXTS.items()}


def explain(cause: str) -> str:
    """Explain a cause in plain text, for a terminal; raise KeyError for an unknown one."""
    text = TEXTS[cause]
    return f"{cause}\n\n{text.mechanism}\n\n{text.remedy}\n\n{text.code}\n"
