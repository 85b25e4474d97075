"""Checks whether the app can draw here. Imported before Textual is."""

from __future__ import annotations

import os
import sys


def is_drawn_elsewhere() -> bool:
    """Return whether something else than a terminal draws the app: textual-serve shows it in a browser."""
    return bool(os.environ.get("TEXTUAL_DRIVER"))


def trouble_with_terminal() -> str | None:
    """Return why the app cannot run here, as the beginning of a sentence; None if it can."""
    if is_drawn_elsewhere():
        return None
    # Textual reads keys from standard input and draws on standard error.
    streams = (sys.__stdin__, sys.__stdout__, sys.__stderr__)
    if not all(stream is not None and stream.isatty() for stream in streams):
        return "The app needs a terminal for standard input, output and error"
    if os.environ.get("TERM") in ("dumb", "unknown"):
        return "The app needs a terminal that it can draw on, and TERM says that this one is not"
    return None
