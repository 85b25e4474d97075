"""Places panels in rows, as many as there is room for."""

from __future__ import annotations

from collections.abc import Sequence

from textual.containers import Container

from .panel import Panel

#: The least width and height of a panel, and its height where the room is short.
_WIDTH, _HEIGHT, _LOW_HEIGHT = 36, 6, 4
#: Rows of a narrow grid from which a panel gets its full height.
_ROOMY = 12
_MOST_COLUMNS = 3
#: The shares of the height of the lead and of every other row.
_SHARES = 3, 2
#: Columns of the grid: one, two or three panels fill a row.
_SPAN = 6


def plan(wanted: Sequence[str], width: int, height: int, lead: str = "") -> list[list[str]]:
    """Return the names to show, row by row, from those that are `wanted`, the most telling first.

    `lead` gets a row of its own if there is more than one. Where all fit, no column is left empty.
    """
    columns = max(1, min(_MOST_COLUMNS, width // _WIDTH))
    low = columns == 1 and height < _ROOMY
    rows = max(1, height // (_LOW_HEIGHT if low else _HEIGHT))
    alone = [lead] if lead in wanted and rows > 1 and len(wanted) > 1 else []
    if alone and not low:
        # The lead's share is larger, and the other rows must keep their least height.
        rows = max(2, 1 + (height * _SHARES[1] // _HEIGHT - _SHARES[0]) // _SHARES[1])
    room = columns * (rows - len(alone))
    rest = [name for name in wanted if name not in alone][:room]
    count = -(-len(rest) // columns)
    short, longer = divmod(len(rest), count) if count else (0, 0)
    placed = [alone] if alone else []
    for row in range(count):
        size = short + (row >= count - longer)
        placed.append(rest[:size])
        rest = rest[size:]
    return placed


class PanelGrid(Container):
    """Panels in a grid that follows its size."""

    DEFAULT_CSS = f"PanelGrid {{ layout: grid; grid-size: {_SPAN}; grid-gutter: 0; }}"

    def __init__(self, *panels: Panel, lead: str = "", id: str | None = None) -> None:
        super().__init__(*panels, id=id)
        self._lead = lead
        self._wanted: tuple[str, ...] = tuple(panel.quantity for panel in panels)
        self._placed: list[list[str]] = []
        for panel in panels:
            panel.display = False  # until there is a place for it

    def on_resize(self) -> None:
        self._place()

    def want(self, names: Sequence[str]) -> None:
        """Show these panels as far as they fit, the most telling first."""
        if tuple(names) != self._wanted:
            self._wanted = tuple(names)
            self._place()

    def _place(self) -> None:
        if not self.size.area:
            return
        panels = {panel.quantity: panel for panel in self.query_children(Panel)}
        wanted = [name for name in self._wanted if name in panels]
        placed = plan(wanted, self.size.width, self.size.height, self._lead)
        if placed == self._placed:
            return
        self._placed = placed
        order = [name for row in placed for name in row]
        for row in placed:
            for name in row:
                panels[name].styles.column_span = _SPAN // len(row)
        for name, panel in panels.items():
            panel.display = name in order
        self.sort_children(
            key=lambda w: order.index(w.quantity) if isinstance(w, Panel) and w.quantity in order else 99
        )
        self.styles.grid_size_rows = max(1, len(placed))
        heights = [f"{_SHARES[row != [self._lead]]}fr" for row in placed]
        self.styles.grid_rows = " ".join(heights) or "1fr"
