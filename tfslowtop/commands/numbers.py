"""Numbers on the command line, for argparse: what is out of range is refused with the range."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable


def positive(kind: Callable[[str], float]) -> Callable[[str], float]:
    """More than 0, and finite."""

    def number(text: str) -> float:
        value = kind(text)
        if not 0 < value < math.inf:
            raise argparse.ArgumentTypeError("must be more than 0 and finite")
        return value

    return number


def count(text: str) -> int:
    """A whole number, 0 or more."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("must be 0 or more")
    return value
