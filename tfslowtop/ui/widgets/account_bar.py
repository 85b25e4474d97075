"""Where the time goes, as one stacked bar with its legend."""

from __future__ import annotations

from collections.abc import Callable

from rich.style import Style
from rich.text import Text
from textual.binding import Binding
from textual.message import Message
from textual.widgets import Static

from ...agent.protocol.names import (
    ACTIVITY_BUILD,
    ACTIVITY_DATA,
    ACTIVITY_DEVICE,
    ACTIVITY_EAGER,
    ACTIVITY_FRAMEWORK,
    ACTIVITY_GC,
    ACTIVITY_GRAPH,
    ACTIVITY_LIBRARY,
    ACTIVITY_OWN,
    ACTIVITY_PYTHON_OP,
    ACTIVITY_TRACE,
    ACTIVITY_UNKNOWN,
    ACTIVITY_WAIT,
    ACTIVITY_WRITE,
    Activity,
)
from ...state.account import AccountView
from ...state.activities import NAMES
from ..format import plain_text

#: How an activity is drawn: its texture, for those who see no colour, and the theme variable of its colour.
#: Green is work that has to be done; red and yellow is what a change could save.
_LOOKS: dict[Activity, tuple[str, str]] = {
    ACTIVITY_TRACE: ("█", "error"),
    ACTIVITY_GRAPH: ("▓", "success"),
    ACTIVITY_EAGER: ("▒", "warning"),
    ACTIVITY_DATA: ("░", "accent"),
    ACTIVITY_DEVICE: ("▞", "accent"),
    ACTIVITY_PYTHON_OP: ("▚", "warning"),
    ACTIVITY_BUILD: ("▤", "error"),
    ACTIVITY_FRAMEWORK: ("▒", "secondary"),
    ACTIVITY_WRITE: ("▥", "accent"),
    ACTIVITY_GC: ("▦", "warning"),
    ACTIVITY_OWN: ("█", "primary"),
    ACTIVITY_LIBRARY: ("▓", "secondary"),
    ACTIVITY_WAIT: ("░", "secondary"),
    ACTIVITY_UNKNOWN: ("·", "foreground"),
}
StyleOf = Callable[[Activity], Style]

#: For terminals that have only ASCII.
_LETTERS = dict(zip(_LOOKS, "#=+.<!%~w*@n-?", strict=True))
#: Activities below this share have no name in the legend.
_LEAST = 0.01


class AccountBar(Static, can_focus=True):
    class Opened(Message):
        """The user wants to see the lines behind the bar."""

    BINDINGS = [Binding("enter", "open", "Lines", tooltip="Show where the time goes, line by line")]

    def __init__(self, *, ascii: bool = False) -> None:
        super().__init__(id="account", markup=False)
        self._ascii = ascii
        self._account = AccountView()
        self._shown: Text | None = None
        self.add_class("-hidden")

    def show(self, account: AccountView) -> None:
        self._account = account
        # Once it is there it stays: it is empty for two seconds after a fix was switched on or off.
        if account.seconds > 0:
            self.remove_class("-hidden")
        self._draw()

    def clear(self) -> None:
        """Leave the screen, until another program has spent some time."""
        self._account = AccountView()
        self.add_class("-hidden")

    def on_resize(self) -> None:
        self._draw()

    def on_click(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        self.post_message(self.Opened())

    def _draw(self) -> None:
        width = self.content_size.width
        if width < 1:
            return
        self.border_title = "where the time goes"
        heaviest = self._account.heaviest
        self.border_subtitle = ""
        if heaviest is not None:
            place = f"{heaviest.file.rsplit('/', 1)[-1]}:{heaviest.line}"
            self.border_subtitle = f"heaviest line {place} {100 * heaviest.share:.0f} %"
        bar = draw_bar(self._account, width, self._style, ascii=self._ascii)
        text = Text("\n").join([bar, legend(self._account, width, self._style, ascii=self._ascii)])
        if not self._account.seconds:
            text = Text("measuring since the last toggle …")
        if self._ascii:
            text = plain_text(text)
        if text != self._shown:
            self._shown = text
            self.update(text)

    def _style(self, activity: Activity) -> Style:
        return Style(color=self.app.theme_variables.get(_LOOKS[activity][1]) or None)


def draw_bar(account: AccountView, width: int, style: StyleOf, *, ascii: bool) -> Text:
    """Draw one segment per activity; they fill the width, and each one that is at least a cell long shows."""
    text, reached, until = Text(no_wrap=True), 0, 0.0
    for activity, share in account.shares:
        until += share
        cells = round(width * until) - reached
        reached += cells
        text.append(_sign(activity, ascii) * cells, style(activity))
    return text


def legend(account: AccountView, width: int, style: StyleOf, *, ascii: bool) -> Text:
    """Name the activities, largest first, as many as fit into the width; the rest is summed up."""
    ranked = sorted(account.shares, key=lambda share: -share[1])
    text, left = Text(no_wrap=True), 1.0
    for activity, share in ranked:
        words = f" {NAMES[activity]} {100 * share:.0f} %"
        rest = f"   other {100 * left:.0f} %"
        if share < _LEAST or len(text) + 3 + len(words) + len(rest) > width:
            break
        text.append("  " if text else "").append(_sign(activity, ascii), style(activity)).append(words)
        left -= share
    if left >= _LEAST:
        text.append(f"  other {100 * left:.0f} %")
    return text


def _sign(activity: Activity, ascii: bool) -> str:
    return _LETTERS[activity] if ascii else _LOOKS[activity][0]
