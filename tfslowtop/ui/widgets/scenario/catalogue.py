"""The list of scenarios, grouped by the article that they come from, with a search field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from ....catalogue.find import Entry, group

#: What each article is about, in a few words.
GROUPS = {
    "000": "000 time rises over calls",
    "001": "001 the second call is slower",
    "002": "002 slow in a loop",
    "003": "003 tf.numpy_function",
    "004": "004 tf.function or Python",
    "added": "added: common today",
}


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
        self, entries: Sequence[Entry], first: str = "", *, ascii: bool = False, readonly: bool = False
    ) -> None:
        """Open with the cursor on `first`."""
        super().__init__(id="catalogue")
        self._cut: Literal["crop", "ellipsis"] = "crop" if ascii else "ellipsis"
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
            for index, option in enumerate(self.list.options):
                if option.id in self._entries:
                    self.list.replace_option_prompt_at_index(index, self._prompt(self._entries[option.id]))

    def _prompt(self, entry: Entry) -> Text:
        text = Text("> " if entry.id == self._on else "  ", no_wrap=True, overflow=self._cut)
        text.append(entry.title, "bold" if entry.id == self._on else "")
        return text

    def _fill(self, words: str) -> None:
        wanted = [entry for entry in self._entries.values() if _matches(entry, words)]
        options: list[Option] = []
        last = ""
        for entry in wanted:
            if group(entry) != last:
                last = group(entry)
                options.append(
                    Option(Text(GROUPS.get(last, last), "bold underline", no_wrap=True), disabled=True)
                )
            options.append(Option(self._prompt(entry), id=entry.id))
        if not wanted:
            options.append(Option("No scenario matches", disabled=True))
        self.list.clear_options()
        self.list.add_options(options)
        if wanted:
            self.list.highlighted = 1

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


def _matches(entry: Entry, words: str) -> bool:
    """Return whether every word of the search occurs in the scenario's own texts."""
    parts = [entry.id, entry.title, group(entry)]
    if entry.scenario:
        parts += [entry.scenario.kind, entry.scenario.claim, entry.scenario.mechanism]
    text = " ".join(parts).lower()
    return all(word in text for word in words.lower().split())
