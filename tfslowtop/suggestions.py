"""Suggest what somebody meant who mistyped a name."""

from __future__ import annotations

from collections.abc import Collection

#: More would read as a list, and the commands that print whole lists are better at that.
_MOST = 3
#: A shorter word is part of too many names to say anything.
_SHORTEST = 3
#: A name that is this similar (0 to 1) differs by a slip of the finger, so the others are not worth naming.
_SLIP = 0.9


def did_you_mean(word: str, known: Collection[str], otherwise: str) -> str:
    """Return the end of a sentence: the closest names as a question, or `otherwise` if none is close."""
    close = closest(word, known)
    if not close:
        return otherwise
    *most, last = close
    return f"did you mean {', '.join(most)} or {last}?" if most else f"did you mean {last}?"


def closest(word: str, known: Collection[str]) -> list[str]:
    """Return the one name that the word differs from by a slip, or those that contain it or look like it."""
    import difflib  # only after a mistake

    names = {_folded(name): name for name in known}
    wanted = _folded(word)
    if wanted in names:
        return [names[wanted]]
    slips = difflib.get_close_matches(wanted, names, n=1, cutoff=_SLIP)
    inside = [folded for folded in names if len(wanted) >= _SHORTEST and wanted in folded]
    close = slips or inside or difflib.get_close_matches(wanted, names, n=_MOST)
    return [names[folded] for folded in close[:_MOST]]


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")
