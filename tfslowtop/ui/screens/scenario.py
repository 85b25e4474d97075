"""The main screen of the scenario app: the catalogue at the left, a card, curves and fixes at the right."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from textual import on
from textual.app import ComposeResult

from ...agent.protocol.events import Failed
from ...catalogue.find import Entry
from ...catalogue.measured import Measured
from ...diagnosis.registry import causes
from ...scenario import Scenario, ScenarioError
from ...state.verdict import live
from ...state.view import View
from ..frame import Frame
from ..widgets.effect_card import EffectCard, newest_effect
from ..widgets.fixes import Fixes
from ..widgets.scenario.card import Card
from ..widgets.scenario.catalogue import Catalogue
from ..widgets.scenario.intro import Intro
from .main import MainScreen

#: Seconds between two versions of verdict, effect and fixes: sentences are read slowly. They are written
#: together, so that their numbers agree.
_NUMBERS_EVERY = 2.0


class ScenarioScreen(MainScreen):
    AUTO_FOCUS = "#scenarios"
    LEAD = "latency"

    def __init__(
        self,
        entries: Sequence[Entry],
        first: Entry | None,
        measured: Mapping[str, Measured],
        *,
        ascii: bool,
        readonly: bool,
    ) -> None:
        """The screen opens on `first`; `measured` is what is known of this machine, and may grow."""
        super().__init__(ascii=ascii)
        self._entry = first
        self._measured = measured
        id = first.id if first else ""
        self.catalogue = Catalogue(entries, id, measured, ascii=ascii, readonly=readonly)
        self._intro = Intro(ascii=ascii)
        self._card = Card(ascii=ascii)
        self._effect = EffectCard(ascii=ascii)
        self._fixes = Fixes(ascii=ascii)
        self._numbers: tuple[tuple[object, ...], float] = ((), 0.0)
        """What was toggled when verdict, effect and fixes were last written, and when that was."""

    def compose_side(self) -> ComposeResult:
        yield self.catalogue

    def compose_above(self) -> ComposeResult:
        yield self._card
        yield self._intro
        yield self.account

    def compose_below(self) -> ComposeResult:
        yield self._effect
        yield self._fixes

    def on_mount(self) -> None:
        if self._entry is not None:
            self.introduce(self._entry)  # here, so that the first picture has it

    def settle_focus(self) -> None:
        """Where the list is hidden, the keys belong to the fixes."""
        hidden = not self.catalogue.display and self.catalogue.has_focus_within
        if self.focused is None or hidden:
            (self.catalogue.list if self.catalogue.display else self._fixes).focus()

    def introduce(self, entry: Entry) -> None:
        """Show a scenario that does not run yet."""
        self._entry = entry
        self.set_class(entry.error is None, "-idle")
        self._intro.show(entry, self._measured.get(entry.id))
        self._card.describe(entry)
        self._effect.show(None)
        self.account.clear()
        self._numbers = ((), 0.0)
        self._fixes.offer(entry.scenario.fixes if entry.scenario else ())
        self.clear_panels()
        self.fail(entry.error)
        self.headline(entry.title, "" if entry.error else "press enter to start")

    def fail(self, failure: Failed | ScenarioError | str | None) -> None:
        super().fail(failure)
        if failure is not None:
            self.remove_class("-idle")

    def mark_running(self, id: str) -> None:
        self.catalogue.mark_running(id)
        self.catalogue.select(id)  # something else may have started it
        if self.has_class("-listing"):  # it was open, and something else has started this
            self.close_list()

    def show(self, frame: Frame) -> None:
        if frame.view.iterations or frame.view.ended is not None:
            self.remove_class("-idle")  # until then its code is more worth reading than empty curves
        super().show(frame)

    def show_rest(self, frame: Frame) -> None:
        newest = newest_effect(frame.view, frame.fixes)
        known = newest is not None and newest.effect is not None
        state = (frame.view.fixes, frame.requested, newest.title if newest else "", known, self.size)
        now = time.monotonic()
        if state == self._numbers[0] and now - self._numbers[1] < _NUMBERS_EVERY:
            return
        self._numbers = (state, now)
        self.catalogue.refresh_rows()
        if self._entry is not None and self._entry.scenario is not None:
            self._card.show_verdict(_verdict(frame.view, self._entry.scenario), _found(frame.view))
        if newest is not None and newest.is_test:
            self.account.clear()  # it would be that of whichever arm runs
        else:
            self.account.show(frame.view.account)
        self._effect.show(newest)
        self._fixes.show(frame.view.fixes, frame.requested, frame.view.segments)

    @on(Catalogue.Chosen)
    def _close_list(self, event: Catalogue.Chosen) -> None:
        if event.run:
            self.close_list()

    def open_list(self) -> None:
        self.add_class("-listing")
        self.catalogue.search()

    def close_list(self) -> None:
        self.remove_class("-listing")
        self.catalogue.end_search()
        (self.catalogue.list if self.has_class("-wide") else self._fixes).focus()
        # On a narrow screen the list covered the headline, which therefore did not know its width.
        self.call_after_refresh(lambda: self.headline(*self._headline_parts))


def _verdict(view: View, scenario: Scenario) -> str:
    """Return the verdict so far; the effect card has the numbers of a toggle or an A/B test."""
    verdict = live(view, scenario.base, scenario.cured_by, scenario.kind).words
    comparison = view.newest_comparison
    if comparison is not None and comparison.effect is None:
        return "A/B test: measuring …"
    return verdict


def _found(view: View) -> str:
    """Return what the diagnosis finds, as it would in any script."""
    own = [f for f in view.findings if not causes()[f.cause].is_machines]
    if not own:
        return ""
    share = own[0].share_words
    if view.marks:  # the bar below is about the time since the last of them
        share = share.replace("of the time", "of the whole run")
    return f"{own[0].cause} at line {own[0].line}, {share}"
