"""Excludes what is alive now from garbage collections: `gc.freeze`, once the program has warmed up."""

from __future__ import annotations

import gc
from collections.abc import Callable
from types import FrameType

from ..safety.interrupt import Interrupt
from .base import LiveFix, Refused


class FrozenGarbage(LiveFix):
    kind = "gc"

    def __init__(self, report_error: Callable[[BaseException], None]) -> None:
        super().__init__(
            "keep long-lived objects out of garbage collections (gc.freeze)", "gc-pause", "", 0, "gc"
        )
        self._interrupt = Interrupt(self._freeze)
        self._report_error = report_error

    def start(self) -> None:
        if gc.get_freeze_count():
            raise Refused("The program calls gc.freeze() itself.")
        self._interrupt.ask()

    def stop(self) -> None:
        gc.unfreeze()

    def _freeze(self, frame: FrameType | None) -> None:
        """Freeze on the main thread, between two instructions; garbage first, or it would stay."""
        if self.is_armed and not self.is_on:
            gc.collect()
            gc.freeze()
            self.confirm("Results do not depend on it.")
