"""The keys that both apps have.

Each app lists them in its BINDINGS, in its own order: a narrow footer shows only the first ones.
"""

from __future__ import annotations

from textual.binding import Binding, BindingType

QUIT_KEY = Binding("q", "quit", "Quit")
HELP_KEY = Binding("question_mark", "show_help", "Help", key_display="?", tooltip="Show this help")
PAUSE_KEY = Binding("space", "pause", "Pause", tooltip="Freeze the view; recording continues")
FOCUS_KEY = Binding("F", "focus_panel", "Focus", tooltip="Show one panel full screen, for a talk")
ACCOUNT_KEY = Binding("w", "app.account", "Where", tooltip="Show where the time goes, line by line")
# Room in the footer is scarce; the help and the palette list these too.
OUTPUT_KEY = Binding("o", "output", "Output", tooltip="Show the program's output", show=False)
MACHINE_KEY = Binding("m", "machine", "Machine", tooltip="Show GPUs and host in numbers", show=False)
BASELINE_KEY = Binding("b", "baseline", "Baseline", tooltip="Pin the current level as a baseline")
FIX_KEYS: list[BindingType] = [
    Binding("1", "fix(1)", "Fix", key_display="1-9", tooltip="Switch a fix on or off"),
    *(Binding(str(n), f"fix({n})", f"Toggle fix {n}", show=False) for n in range(2, 10)),
    Binding("0", "all_off", "All off", tooltip="Switch all fixes off"),
]
HIDDEN_KEYS: list[BindingType] = [
    Binding("ctrl+z", "suspend_process", "Suspend", show=False, tooltip="Go to the shell; fg comes back"),
    Binding("plus,equals_sign", "zoom(-1)", "Zoom in", show=False, key_display="+"),
    Binding("minus", "zoom(1)", "Zoom out", show=False, key_display="-"),
    Binding("j", "move('down')", "Down", show=False),
    Binding("k", "move('up')", "Up", show=False),
]
