"""A dialog with the parameters of the running scenario."""

from __future__ import annotations

from collections.abc import Mapping

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from ...scenario import Param, Scenario, ScenarioError
from ..format import plain
from .terminal_size import LatestSizeOnly


class ParamsScreen(LatestSizeOnly, ModalScreen["dict[str, str] | None"]):
    """Returns the new values as texts, or None if nothing should change."""

    BINDINGS = [
        Binding("escape", "cancel", "Cancel"),
        Binding("down", "app.focus_next", "Next", show=False),
        Binding("up", "app.focus_previous", "Previous", show=False),
    ]

    def __init__(self, scenario: Scenario, values: Mapping[str, str], *, ascii: bool = False) -> None:
        super().__init__(classes="-ascii" if ascii else None)
        self._scenario = scenario
        self._values = values
        self._ascii = ascii
        self._error = Static(id="params-error", markup=False)

    def compose(self) -> ComposeResult:
        with Vertical(id="params-box"):
            yield Static("Enter restarts with these values; Esc cancels.", markup=False)
            with VerticalScroll(can_focus=False):
                for param in self._scenario.params:
                    yield Static(self._label(param), classes="param-label", markup=False)
                    value = self._values.get(param.name, str(param.default))
                    yield Input(value, id=f"param-{param.name}", compact=True)
            yield self._error

    def _label(self, param: Param) -> str:
        allowed = f"; one of {', '.join(map(str, param.choices))}" if param.choices else ""
        large = f"; gpu: {param.gpu}" if param.gpu is not None else ""
        text = f"{param.name}: {param.help}{allowed} (default: {param.default}{large})"
        return plain(text) if self._ascii else text

    @on(Input.Submitted)
    def _submit(self, event: Input.Submitted) -> None:
        event.stop()
        texts = {p.name: self.query_one(f"#param-{p.name}", Input).value for p in self._scenario.params}
        texts = {name: text.strip() for name, text in texts.items()}
        try:
            self._scenario.values(texts)
        except ScenarioError as error:
            self._error.update(plain(error.message) if self._ascii else error.message)
            return
        self.dismiss(texts)

    def action_cancel(self) -> None:
        self.dismiss(None)
