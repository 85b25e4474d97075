"""The list of scenarios by symptom, each with what it last measured here, and a search field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.cells import cell_len, set_cell_size
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from ....catalogue.find import Entry
from ....catalogue.measured import Measured
from ....catalogue.search import by_symptom, ranked, symptom
from ...format import plain, shortened
from ..spark import spark
from .last_run import badge

#: Columns of the small curve at the end of a row that has room for it.
_CURVE = 5


class Search(Input):
    BINDINGS = [
        Binding("enter,down", "submit", "To the list", key_display="enter"),
        Binding("escape", "app.leave", "Back"),
    ]


class ScenarioList(OptionList):
    BINDINGS = [
        Binding("enter", "select", "Start", key_display="enter", tooltip="Start the selected scenario")
    ]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "select" or not self.has_class("-readonly")


class Catalogue(Vertical):
    class Chosen(Message):
        """`run` says whether to start it (enter, click) or only to show it (the cursor moved there)."""

        def __init__(self, entry: Entry, run: bool) -> None:
            super().__init__()
            self.entry = entry
            self.run = run

    def __init__(
        self,
        entries: Sequence[Entry],
        first: str = "",
        measured: Mapping[str, Measured] | None = None,
        *,
        ascii: bool = False,
        readonly: bool = False,
    ) -> None:
        """Open with the cursor on `first`; `measured` is what is known of this machine, and may grow."""
        super().__init__(id="catalogue")
        self._ascii = ascii
        self._measured = measured if measured is not None else {}
        self._entries = {entry.id: entry for entry in entries}
        self._on = ""
        self._first = first
        self._readonly = readonly

    def compose(self) -> ComposeResult:
        yield Search(placeholder="/ search", id="search", compact=True)
        yield ScenarioList(id="scenarios", markup=False, classes="-readonly" if self._readonly else None)

    def on_mount(self) -> None:
        with self.prevent(OptionList.OptionHighlighted):  # nobody has selected the first one
            self._fill("")
        self.select(self._first)

    @property
    def list(self) -> OptionList:
        return self.query_one("#scenarios", OptionList)

    def search(self) -> None:
        self.query_one(Input).focus()

    def end_search(self) -> None:
        """List all scenarios again, with the cursor on the same one."""
        field, index = self.query_one(Input), self.list.highlighted
        if field.value:
            kept = self.list.get_option_at_index(index).id if index is not None else None
            with self.prevent(Input.Changed):
                field.value = ""
            self._fill("")
            self.select(kept or self._on)

    def select(self, id: str) -> None:
        """Move the cursor to a scenario without posting a message."""
        with self.prevent(OptionList.OptionHighlighted):
            for index, option in enumerate(self.list.options):
                if option.id == id:
                    self.list.highlighted = index

    def mark_running(self, id: str) -> None:
        if id != self._on:
            self._on = id
            self.refresh_rows()

    def refresh_rows(self) -> None:
        """Write the rows again: another scenario runs, something was measured, or the width has changed."""
        if not self.query("#scenarios"):
            return  # the app is closing
        for index, option in enumerate(self.list.options):
            if option.id in self._entries:
                prompt = self._prompt(self._entries[option.id])
                if prompt != option.prompt:
                    self.list.replace_option_prompt_at_index(index, prompt)

    def on_resize(self) -> None:
        self.call_after_refresh(self.refresh_rows)

    def _prompt(self, entry: Entry) -> Text:
        """Return a row: what it is, and at the right what it measured here the last time."""
        searching = bool(self.query_one(Input).value)
        sign = ">" if entry.id == self._on else symptom(entry).sign if searching else " "
        measured = self._measured.get(entry.id)
        end = badge(measured, entry) if measured is not None else ""
        width = self.list.scrollable_content_region.width or 40
        if measured is not None and not self._ascii:
            curve = spark(measured.curve, _CURVE)
            if 2 + cell_len(entry.title) + 1 + cell_len(end) + 1 + cell_len(curve) <= width:
                end = f"{end} {curve}".rstrip()
        room = max(10, width - 2 - (cell_len(end) + 1 if end else 0))
        title = set_cell_size(shortened(entry.title, room, ascii=self._ascii), room)
        text = Text(f"{sign} ", no_wrap=True, overflow="crop")
        text.append(title, "bold" if entry.id == self._on else "")
        text.append(f" {end}" if end else "", "bold")
        return Text(plain(text.plain), no_wrap=True, overflow="crop") if self._ascii else text

    def _fill(self, words: str) -> None:
        """List what a search finds, the best match first; without one, everything by symptom."""
        entries = list(self._entries.values())
        wanted = ranked(entries, words) if words.strip() else by_symptom(entries)
        options: list[Option] = []
        last = ""
        for entry in wanted:
            kind = symptom(entry)
            if kind.name != last and not words.strip():
                last = kind.name
                title = f"{kind.sign} {kind.name.upper()}"
                heading = Text(plain(title) if self._ascii else title, "bold underline", no_wrap=True)
                options.append(Option(heading, disabled=True))
            options.append(Option(self._prompt(entry), id=entry.id))
        if not wanted:
            options.append(Option("No scenario matches", disabled=True))
        self.list.clear_options()
        self.list.add_options(options)
        if wanted:
            self.list.highlighted = 0 if words.strip() else 1

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._fill(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.list.focus()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        self._post_chosen(event, run=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self._post_chosen(event, run=True)

    def _post_chosen(self, event: OptionList.OptionMessage, *, run: bool) -> None:
        event.stop()
        entry = self._entries.get(event.option.id or "")
        if entry is not None:
            self.post_message(self.Chosen(entry, run))
