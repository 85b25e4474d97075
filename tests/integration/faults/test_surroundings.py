"""Streams, disks, limits, users, languages, terminals and names."""

from __future__ import annotations

from .driver import Fault
from .judging import Judge, rows
from .table import SURROUNDINGS

judge = Judge()


@rows(SURROUNDINGS)
def test_surroundings(fault: Fault, mode: str) -> None:
    judge(fault, mode)
