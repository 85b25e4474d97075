"""Every key that works right now, from the bindings themselves, and how to read a panel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import ActiveBinding, Binding
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widgets import Static

from .live import LiveScreen, Page

#: Which actions belong together. What is not named here comes under the widget or screen that it belongs to.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Fixes": ("fix", "all_off", "compare"),
    "The run": ("restart", "parameters", "search", "choose"),
    "The view": (
        *("pause", "baseline", "zoom", "open", "big", "code"),
        *("findings", "output", "type", "machine", "internal"),
    ),
    "Moving": ("move", "focus_next", "turn", "scroll_down", "scroll_up", "scroll_home", "scroll_end"),
    "The app": ("keys", "command_palette", "quit", "suspend_process", "leave", "close"),
}

READING = """\
{bar}  the typical value in that stretch of time
{range}  from there up to the largest one
{toggle}{ghost}  the baseline that b has marked
{beyond}  it goes on above the top

Tab goes to the panels; enter shows one in full.
The lower edge is zero, so what looks flat is flat.
rising   it climbs; neither chance nor a busy machine
flat     any change is too small to matter
unclear  the data do not say; more iterations may
it       iteration: +3 %/100 it is 3 % per 100 of them
"""
OF_A_SCENARIO = """\
x12 faster (95 % CI 11-13)
         before divided by after, and how sure that is\
"""
OF_A_SCRIPT = """\
>        the step: its curve is the latency
time     share of the time since its first call
hidden   functions of the libraries; i shows them\
"""
#: Textual's words for its own keys, in ours.
_WORDS = {"focus_next": "To the next panel or list", "command_palette": "Every command, by its name"}
#: Said by others than us, and nothing that anybody looks for here.
_TEXTUALS_OWN = ("copy_text", "focus_previous", "help_quit")
_GLYPHS = {"bar": "█", "range": "░", "mark": "│", "ghost": "·", "beyond": "▲"}
_ASCII_GLYPHS = {"bar": "#", "range": ":", "mark": "|", "ghost": "-", "beyond": "^"}


def name_of(action: str) -> str:
    """`app.zoom(-1)` → `zoom`."""
    return action.split("(")[0].rsplit(".", 1)[-1]


def worth_telling(active: ActiveBinding) -> bool:
    """Our own keys, and of Textual's those that its authors show."""
    node, binding = active.node, active.binding
    if not active.enabled or not binding.description or binding.system:
        return False
    return binding.show or (isinstance(node, (App, Screen)) and name_of(binding.action) not in _TEXTUALS_OWN)


def words_of(binding: Binding) -> str:
    """What the key does, in a few words."""
    return _WORDS.get(name_of(binding.action), binding.tooltip or binding.description)


def groups(bindings: Iterable[ActiveBinding]) -> dict[str, list[tuple[list[Binding], DOMNode]]]:
    """Bindings by group; those of one action name and description stand on one line."""
    found: dict[str, dict[tuple[str, str], tuple[list[Binding], DOMNode]]] = {name: {} for name in GROUPS}
    for active in filter(worth_telling, bindings):
        binding = active.binding
        name = name_of(binding.action)
        title = next((group for group, names in GROUPS.items() if name in names), "What has the focus")
        # The keys 1 to 9 do the same for different fixes.
        key = (name, "" if name == "fix" else binding.description)
        found.setdefault(title, {}).setdefault(key, ([], active.node))[0].append(binding)
    return {title: list(lines.values()) for title, lines in found.items() if lines}


class HelpScreen(LiveScreen):
    AUTO_FOCUS = "#help-page"
    BINDINGS = [Binding("question_mark", "close", "Back", show=False)]

    def __init__(
        self,
        bindings: Iterable[ActiveBinding],
        later: Sequence[Binding] = (),
        *,
        ascii: bool = False,
        script: bool = False,
    ) -> None:
        """`later` are keys that do something only once a scenario runs."""
        super().__init__(ascii=ascii)
        self._told_of = list(bindings)
        self._later = later
        self._script = script

    def parts(self) -> ComposeResult:
        with Page(id="help-page"):
            yield Static(self._keys(), id="help-keys", markup=False)
            yield Static(self._reading(), id="help-reading", markup=False)

    def on_mount(self) -> None:
        self.headline("Keys and how to read a panel")

    def _keys(self) -> Text:
        text = Text()
        sections = {title: [keys for keys, _ in lines] for title, lines in groups(self._told_of).items()}
        if self._later:
            sections["Once a scenario runs"] = [[binding] for binding in self._later]
        for title, lines in sections.items():
            text.append(f"{title}\n", "bold underline")
            for bindings in lines:
                bindings.sort(key=lambda binding: len(binding.key))
                text.append(self.spell(f"  {self._shown(bindings):<9} "), "bold")
                text.append(self.spell(words_of(bindings[0])) + "\n")
            text.append("\n")
        text.rstrip()
        return text

    def _shown(self, bindings: list[Binding]) -> str:
        first = bindings[0]
        if first.key_display is not None:
            return first.key_display
        return " ".join(dict.fromkeys(map(self.app.get_key_display, bindings)))

    def _reading(self) -> Text:
        text = Text("How to read a panel\n", "bold underline")
        glyphs = _ASCII_GLYPHS if self.ascii else _GLYPHS
        toggle = "" if self._script else f"{glyphs['mark']}  a fix was toggled there\n"
        words = READING.format(toggle=toggle, **glyphs) + (OF_A_SCRIPT if self._script else OF_A_SCENARIO)
        return text.append(words, "not bold not underline")
