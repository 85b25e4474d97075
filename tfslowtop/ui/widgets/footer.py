"""The footer: as many keys as fit, none of them cut off in the middle."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Footer
from textual.widgets._footer import FooterKey


class KeyFooter(Footer):
    """Shows the first keys, which matter most; `?` and the palette list them all."""

    def __init__(self) -> None:
        super().__init__(compact=True)
        # Textual waits for the first change of bindings before it shows any: at start, that is a blank line.
        self.set_reactive(Footer._bindings_ready, True)
        self._width = 0

    def compose(self) -> ComposeResult:
        self._width = self.app.size.width
        keys = [key for key in super().compose() if isinstance(key, FooterKey)]
        room = self._width - sum(_width(key) + 1 for key in keys if key.has_class("-command-palette"))
        for key in keys:
            if not key.has_class("-command-palette"):
                room -= _width(key)
                if room < 0:
                    room = -1  # nothing after it either, or the order would change with the width
                    continue
            yield key

    def on_resize(self) -> None:
        if self.app.size.width != self._width:
            self.call_after_refresh(self.recompose)


def _width(key: FooterKey) -> int:
    """Return the width in compact form: the key, a blank, the description, a blank."""
    return len(key.key_display) + len(key.description) + 2
