"""The machine around the program: every GPU, and the host."""

from __future__ import annotations

import time

from textual.app import ComposeResult
from textual.widgets import Static

from ..frame import Frame
from ..widgets.machine.gpus import gpu_rows
from ..widgets.machine.host import host_rows
from ..widgets.machine.meter_rows import write_rows
from .live import LiveScreen, Page

#: Seconds between two updates: the sensors' rates are per second, too.
_EVERY = 0.9


class MachineScreen(LiveScreen):
    AUTO_FOCUS = "#machine-page"

    def __init__(self, *, ascii: bool = False) -> None:
        super().__init__(ascii=ascii)
        self._gpus = Static(id="machine-gpus", classes="part", markup=False)
        self._host = Static(id="machine-host", classes="part", markup=False)
        self._shown: tuple[int, float] = (0, 0.0)

    def compose_body(self) -> ComposeResult:
        with Page(id="machine-page"):
            yield self._gpus
            yield self._host

    def show(self, frame: Frame) -> None:
        view = frame.view
        self.headline(f"Machine · {frame.title}", frame.status)
        width, now = self.app.size.width - 3, time.monotonic()  # the scrollbar, and a blank before it
        if width == self._shown[0] and now - self._shown[1] < _EVERY:
            return
        self._shown = (width, now)
        # ANSI themes name their colours, which Rich does not know; there the text's colour will do.
        primary = self.app.theme_variables.get("primary", "")
        colour = primary if primary.startswith("#") else ""
        for widget, rows in ((self._gpus, gpu_rows(view)), (self._host, host_rows(view.readings))):
            self.write(widget, write_rows(rows, view.histories, width, self.ascii, colour))
