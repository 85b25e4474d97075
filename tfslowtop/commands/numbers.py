"""Numbers on the command line, for argparse: a value out of range is refused with the range."""

from __future__ import annotations

import argparse
import math


def positive(text: str) -> float:
    """Read a finite number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"must be a finite number above 0, not {text!r}")
    return value


def positive_count(text: str) -> int:
    """Read a whole number above 0."""
    return _whole(text, 1)


def count(text: str) -> int:
    """Read a whole number of 0 or more."""
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"must be a whole number of {least} or more, not {text!r}")
    return value
