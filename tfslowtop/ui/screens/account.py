"""Where the time goes, line by line, with the source around the selected line."""

from __future__ import annotations

import math

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.widgets import DataTable, Static

from ...agent.code.source_lines import source_line
from ...state.account import AccountRow, AccountView
from ...state.activities import NAMES
from ..format import quantity
from ..frame import Frame
from .live import LiveScreen

#: Rows of the table: what is below them takes less than a percent of the time in all but odd programs.
_MOST_ROWS = 40
#: Lines of source before and after the selected one.
_AROUND = 3


class AccountScreen(LiveScreen):
    AUTO_FOCUS = "#account-table"

    def __init__(self, *, ascii: bool = False) -> None:
        super().__init__(ascii=ascii)
        self._table: DataTable[Text] = DataTable(id="account-table", cursor_type="row", zebra_stripes=False)
        self._source = Static(id="account-source", classes="code", markup=False)
        self._note = Static(id="account-note", markup=False)
        self._account = AccountView()
        self._rows: list[AccountRow] = []

    def compose_body(self) -> ComposeResult:
        yield self._note
        yield self._table
        yield self._source

    def on_mount(self) -> None:
        for name in ("share", "per step", "line", "what", "calls", "growth"):
            self._table.add_column(name, key=name)

    def show(self, frame: Frame) -> None:
        account = frame.view.account
        self.headline(f"Where the time of {frame.file_name} goes", frame.status)
        if account == self._account and self._table.row_count:
            return
        self._account = account
        self.write(self._note, Text(self.spell(_describe(account))))
        self._fill()

    def _fill(self) -> None:
        selected = self._selected()
        rows = [row for row in self._account.rows if row.share >= 0.0005][:_MOST_ROWS]
        cells = [[Text(self.spell(cell)) for cell in _cells(row, self._account)] for row in rows]
        if len(rows) == len(self._rows):
            for number, row in enumerate(cells):
                for column, cell in enumerate(row):
                    if self._table.get_cell_at((number, column)) != cell:  # type: ignore[arg-type]
                        self._table.update_cell_at((number, column), cell, update_width=True)  # type: ignore[arg-type]
        else:
            self._table.clear()
            for row in cells:
                self._table.add_row(*row)
        self._rows = rows
        keys = [(r.activity, r.file, r.line) for r in rows]
        if selected in keys:
            self._table.move_cursor(row=keys.index(selected))
        self._show_source()

    def _selected(self) -> tuple[str, str, int] | None:
        number = self._table.cursor_row
        if not 0 <= number < len(self._rows):
            return None
        row = self._rows[number]
        return row.activity, row.file, row.line

    @on(DataTable.RowHighlighted)
    def _show_source(self) -> None:
        selected = self._selected()
        text = Text()
        if selected is not None and selected[1]:
            _, file, line = selected
            shares = _shares_by_line(self._account, file)
            for number in range(max(1, line - _AROUND), line + _AROUND + 1):
                code = source_line(file, number).rstrip()
                share = shares.get(number, 0.0)
                mark = f"{100 * share:3.0f} %" if share >= 0.005 else "     "
                style = "bold reverse" if number == line else "bold" if share >= 0.05 else ""
                text.append(self.spell(f"{mark} {number:5d}  {code}\n"), style)
        self.write(self._source, text)


def _describe(account: AccountView) -> str:
    if not account.seconds:
        return "Nothing is known yet; the first figures come after two seconds."
    steps = f", {account.steps:,} steps" if account.steps else ""
    before = ""
    if account.before >= 1:
        before = f" Before that, {account.before:.1f} s went to imports and preparation."
    return f"The main thread since its first watched call: {account.seconds:.1f} s{steps}.{before}"


def _cells(row: AccountRow, account: AccountView) -> tuple[str, ...]:
    place = f"{row.file.rsplit('/', 1)[-1]}:{row.line}" if row.file else "–"
    per_step = account.per_step(row.seconds)
    return (
        f"{100 * row.share:5.1f} %",
        quantity(per_step, "s") if math.isfinite(per_step) else f"{row.seconds:.2f} s in all",
        place,
        NAMES[row.activity],
        f"{row.calls:,}" if row.calls else "",
        _growth(row, per_step),
    )


def _growth(row: AccountRow, per_step: float) -> str:
    """Say how the time per step changed from the first half of the steps to the second, if it did."""
    if not math.isfinite(row.growth) or not abs(row.growth) >= 0.2 * per_step:
        return ""
    return f"{'+' if row.growth > 0 else '-'}{quantity(abs(row.growth), 's')}"


def _shares_by_line(account: AccountView, file: str) -> dict[int, float]:
    shares: dict[int, float] = {}
    for row in account.rows:
        if row.file == file:
            shares[row.line] = shares.get(row.line, 0.0) + row.share
    return shares
