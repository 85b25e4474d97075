"""Help: every key that works right now, taken from the bindings, and how to read a panel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import ActiveBinding, Binding
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widgets import Static

from .live import LiveScreen, Page

#: Which actions belong together. An action that is not listed here belongs to what has the focus.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Fixes": ("fix", "all_off", "compare"),
    "The run": ("restart", "parameters", "search", "choose"),
    "The view": (
        *("pause", "baseline", "zoom", "open", "focus_panel", "code"),
        *("findings", "output", "type", "machine", "internal"),
    ),
    "Moving": ("move", "focus_next", "cycle", "scroll_down", "scroll_up", "scroll_home", "scroll_end"),
    "The app": ("show_help", "command_palette", "quit", "suspend_process", "leave", "close"),
}

_SIGNS = """\
{bar}  the typical value in that period
{range}  from there up to the largest value
{own}{ghost}  the baseline that b pinned
{beyond}  continues above the top edge
"""
_WORDS = """\
Tab moves to the panels; enter opens one.
The lower edge is zero, so what looks flat is flat.
rising   climbs, by more than chance or a busy machine
flat     any change is too small to matter
unclear  not enough data yet
it       iteration: +3 %/100 it is 3 % per 100 iterations
"""


@dataclass(frozen=True, slots=True)
class AppHelp:
    """What the help says about one app only, on how to read its screen."""

    signs: str = ""
    """Lines about signs in a curve; `{mark}` is the sign of a toggle."""
    words: str = ""


#: Our descriptions of Textual's own keys.
_DESCRIPTIONS = {
    "focus_next": "Go to the next panel or list",
    "command_palette": "Find any command by its name",
}
#: Textual's keys that nobody looks for here.
_TEXTUALS_OWN = ("copy_text", "focus_previous", "help_quit")
_GLYPHS = {"bar": "█", "range": "░", "mark": "│", "ghost": "·", "beyond": "▲"}
_ASCII_GLYPHS = {"bar": "#", "range": ":", "mark": "|", "ghost": "-", "beyond": "^"}


def action_name(action: str) -> str:
    """Return `zoom` for `app.zoom(-1)`."""
    return action.split("(")[0].rsplit(".", 1)[-1]


def is_worth_listing(active: ActiveBinding) -> bool:
    """Return whether a key is one of ours, or one of Textual's that its authors show."""
    node, binding = active.node, active.binding
    if not active.enabled or not binding.description or binding.system:
        return False
    return binding.show or (
        isinstance(node, (App, Screen)) and action_name(binding.action) not in _TEXTUALS_OWN
    )


def describe_key(binding: Binding) -> str:
    """Say in a few words what the key does."""
    return _DESCRIPTIONS.get(action_name(binding.action), binding.tooltip or binding.description)


def groups(bindings: Iterable[ActiveBinding]) -> dict[str, list[tuple[list[Binding], DOMNode]]]:
    """Group the bindings; those of one action and description share a line."""
    found: dict[str, dict[tuple[str, str], tuple[list[Binding], DOMNode]]] = {name: {} for name in GROUPS}
    for active in filter(is_worth_listing, bindings):
        binding = active.binding
        name = action_name(binding.action)
        title = next((group for group, names in GROUPS.items() if name in names), "What has the focus")
        # The keys 1 to 9 do the same to different fixes.
        key = (name, "" if name == "fix" else binding.description)
        found.setdefault(title, {}).setdefault(key, ([], active.node))[0].append(binding)
    return {title: list(lines.values()) for title, lines in found.items() if lines}


class HelpScreen(LiveScreen):
    AUTO_FOCUS = "#help-page"
    BINDINGS = [Binding("question_mark", "close", "Back", show=False)]

    def __init__(
        self,
        bindings: Iterable[ActiveBinding],
        later: tuple[str, Sequence[Binding]],
        about: AppHelp,
        *,
        ascii: bool = False,
    ) -> None:
        """`later` are keys that do nothing yet, under their heading."""
        super().__init__(ascii=ascii)
        # Not `_bindings`, which is Textual's.
        self._listed = list(bindings)
        self._later = later
        self._about = about

    def compose_body(self) -> ComposeResult:
        with Page(id="help-page"):
            yield Static(self._keys(), id="help-keys", markup=False)
            yield Static(self._reading(), id="help-reading", markup=False)

    def on_mount(self) -> None:
        self.headline("Keys and how to read a panel")

    def _keys(self) -> Text:
        text = Text()
        sections = {title: [keys for keys, _ in lines] for title, lines in groups(self._listed).items()}
        heading, later = self._later
        if later:
            sections[heading] = [[binding] for binding in later]
        for title, lines in sections.items():
            text.append(f"{title}\n", "bold underline")
            for bindings in lines:
                bindings.sort(key=lambda binding: len(binding.key))
                text.append(self.spell(f"  {self._key_names(bindings):<9} "), "bold")
                text.append(self.spell(describe_key(bindings[0])) + "\n")
            text.append("\n")
        text.rstrip()
        return text

    def _key_names(self, bindings: list[Binding]) -> str:
        first = bindings[0]
        if first.key_display is not None:
            return first.key_display
        return " ".join(dict.fromkeys(map(self.app.get_key_display, bindings)))

    def _reading(self) -> Text:
        text = Text("How to read a panel\n", "bold underline")
        glyphs = _ASCII_GLYPHS if self.ascii else _GLYPHS
        signs = _SIGNS.format(own=self._about.signs.format(**glyphs), **glyphs)
        return text.append(f"{signs}\n{_WORDS}{self._about.words}", "not bold not underline")
