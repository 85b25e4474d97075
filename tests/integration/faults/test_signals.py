"""What others do to the script, its watcher and its keeper."""

from __future__ import annotations

from .driver import Fault
from .judging import Judge, rows
from .table import SIGNALS

judge = Judge()


@rows(SIGNALS)
def test_signals(fault: Fault, mode: str) -> None:
    judge(fault, mode)
