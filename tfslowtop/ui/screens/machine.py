"""What the machine does to the program: every GPU, and the host."""

from __future__ import annotations

import time

from textual.app import ComposeResult
from textual.widgets import Static

from ...catalogue.find import Entry
from ...state.view import View
from ..widgets.machine.gpus import gpu_rows
from ..widgets.machine.host import host_rows
from ..widgets.machine.meter_rows import write
from .live import LiveScreen, Page

#: Seconds between two looks of it: the sensors' rates are over a second, too.
_EVERY = 0.9


class MachineScreen(LiveScreen):
    AUTO_FOCUS = "#machine-page"

    def __init__(self, *, ascii: bool = False) -> None:
        super().__init__(ascii=ascii)
        self._gpus = Static(id="machine-gpus", classes="part", markup=False)
        self._host = Static(id="machine-host", classes="part", markup=False)
        self._shown: tuple[int, float] = (0, 0.0)

    def parts(self) -> ComposeResult:
        with Page(id="machine-page"):
            yield self._gpus
            yield self._host

    def show_view(self, view: View, entry: Entry, words: str) -> None:
        self.headline(f"Machine · {entry.title}", words)
        width, now = self.app.size.width - 3, time.monotonic()  # the scrollbar, and a blank before it
        if width == self._shown[0] and now - self._shown[1] < _EVERY:
            return
        self._shown = (width, now)
        # A theme of the terminal's own colours names them, and there the text's colour will do.
        primary = self.app.theme_variables.get("primary", "")
        colour = primary if primary.startswith("#") else ""
        for widget, rows in ((self._gpus, gpu_rows(view)), (self._host, host_rows(view.readings))):
            self.say(widget, write(rows, view.histories, width, self.ascii, colour))
