"""What a script does to itself, watched and plain side by side."""

from __future__ import annotations

from .driver import Fault
from .judging import Judge, rows
from .table import PROGRAM

judge = Judge()


@rows(PROGRAM)
def test_program(fault: Fault, mode: str) -> None:
    judge(fault, mode)
