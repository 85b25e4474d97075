"""The main screen of the script app: the verdict, further findings, curves of the step, and the streams."""

from __future__ import annotations

import time

from textual.app import ComposeResult
from textual.binding import Binding
from textual.geometry import Size

from ...agent.protocol.names import (
    FIX_REFUSED,
    FIX_ROLLED_BACK,
    GAUGE_GRAPH_OPS,
    GAUGE_OPEN_SESSIONS,
    GAUGE_TENSORS_KEPT,
    PHASE_IMPORTING,
    PHASE_STARTING,
)
from ...scenario import Fix
from ...state.view import View
from ..finding_code import CodeCache, CodeWanted, FindingCode, code_key
from ..frame import Frame
from ..keys import ACCOUNT_KEY
from ..widgets.effect_card import EffectCard, newest_effect
from ..widgets.fixes import Fixes
from ..widgets.script.findings import FindingList
from ..widgets.script.streams import StreamTable
from ..widgets.script.summary import Summary, summarise
from ..widgets.script.verdict import Verdict, find_prompt, fix_keys, judge
from ..widgets.script.verdict_card import VerdictCard
from .main import MainScreen

#: The gauges of a script that get a curve; the others are for the diagnosis and the JSON.
_GAUGES_WITH_PANEL = frozenset(
    {GAUGE_GRAPH_OPS, GAUGE_OPEN_SESSIONS, GAUGE_TENSORS_KEPT, "Python ops", "waiting for data"}
)
_NOT_ON = (FIX_REFUSED, FIX_ROLLED_BACK)
#: Seconds between two versions of the lists: people read them slowly.
_LISTS_EVERY = 0.9
#: Seconds for which a question has to stand unanswered before the card says that the script waits.
_ASKED_FOR = 1.0


class ScriptScreen(MainScreen):
    AUTO_FOCUS = "#verdict"
    BINDINGS = [
        Binding("d", "findings", "Findings", tooltip="Go to the findings; enter opens one"),
        Binding("o", "app.output", "Output", tooltip="Show the script's output"),
        ACCOUNT_KEY,
        Binding("i", "internal", "Internal", show=False, tooltip="Show or hide library functions"),
    ]

    def __init__(self, codes: CodeCache, *, ascii: bool, readonly: bool) -> None:
        """`codes` belongs to the app, which reads what the screen asks for."""
        super().__init__(ascii=ascii)
        self._panels["latency"].heading = "step time"
        self._codes = codes
        self._asked = ("", 0.0)
        """The question that the script's output ends with, and since when."""
        self.card = VerdictCard(ascii=ascii)
        self._effect = EffectCard(ascii=ascii)
        self.fixes = Fixes(ascii=ascii)
        self.fixes.display = False
        self._offered: tuple[Fix, ...] = ()
        self._summary = Summary(ascii=ascii)
        self.findings = FindingList(ascii=ascii)
        self.findings.display = False
        self.table = StreamTable(ascii=ascii, readonly=readonly)
        self._listed: tuple[View | None, Size, float] = (None, Size(), 0.0)

    def telling_curve(self, view: View) -> str:
        return view.findings[0].curve if view.findings else super().telling_curve(view)

    def always_shown(self, view: View) -> set[str]:
        return {self.telling_curve(view)} if view.iterations else set()

    def has_panel(self, gauge: str) -> bool:
        return gauge in _GAUGES_WITH_PANEL

    def compose_above(self) -> ComposeResult:
        yield self.card
        yield self.findings
        yield self.account

    def compose_below(self) -> ComposeResult:
        yield self._effect
        yield self.fixes
        yield self._summary
        yield self.table

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "findings" and not (self.card.has_finding or self.findings.display):
            return False
        return super().check_action(action, parameters)

    def action_internal(self) -> None:
        self.table.toggle_internal()

    def action_findings(self) -> None:
        (self.card if self.card.has_finding else self.findings).focus()

    def action_next_finding(self) -> None:
        """Go from the card to the list below it."""
        (self.findings if self.findings.display else self.table.list).focus()

    def settle_focus(self) -> None:
        if self.focused is None:
            self.card.focus()

    def introduce(self, name: str) -> None:
        """Show a script that is about to start."""
        self.clear_panels()
        self.fail(None)
        self._asked = ("", 0.0)
        self.card.show(Verdict("neutral", "starting …"))
        self.findings.show(())
        self._effect.show(None)
        self._offered = ()
        self.fixes.offer(())
        self.headline(name, "starting …")

    def show_rest(self, frame: Frame) -> None:
        view, now = frame.view, time.monotonic()
        verdict = judge(view, self._prompt(view, now), fix_keys(frame.fixes))
        self.card.show(verdict, self._code(verdict))
        self.set_class(_is_early(view, verdict), "-early")
        if verdict.traceback and not view.iterations:
            self.fail(verdict.traceback)
        before, size, when = self._listed
        if size == self.size and (view is before or now - when < _LISTS_EVERY):
            return
        self._listed = (view, self.size, now)
        self._show_fixes(frame)
        self.table.show(view.streams)
        self.account.show(view.account)
        on_card = verdict.finding is not None
        self.findings.show(view.findings[on_card:], 1 + on_card)
        self._summary.show(summarise(view, healthy=verdict.kind == "healthy"))

    def _show_fixes(self, frame: Frame) -> None:
        if frame.fixes != self._offered:
            self._offered = frame.fixes
            self.fixes.offer(frame.fixes)
        refusals = {o.id: f"{o.status}: {o.sentence}" for o in frame.view.offers if o.status in _NOT_ON}
        self.fixes.show(frame.view.fixes, frame.requested, frame.view.segments, refusals)
        # Nothing can be switched any more; what was measured stays.
        untouched = frame.view.ended is not None and not frame.view.marks
        self.fixes.set_class(untouched, "-hidden")
        self._effect.show(newest_effect(frame.view, frame.fixes))

    def _prompt(self, view: View, now: float) -> str:
        """Return the question that the script has been waiting for an answer to, if it has for a while."""
        asked = find_prompt(view)
        if asked != self._asked[0]:
            self._asked = (asked, now)
        return asked if now - self._asked[1] >= _ASKED_FOR else ""

    def _code(self, verdict: Verdict) -> FindingCode | None:
        if verdict.finding is None:
            return None
        code = self._codes.get(code_key(verdict.finding))
        if code is None:
            self.post_message(CodeWanted(verdict.finding))
        return code


def _is_early(view: View, verdict: Verdict) -> bool:
    """Whether nothing has happened yet that curves or lists could show."""
    if view.ended is not None or view.iterations:
        return False
    waiting = verdict.kind == "asking" or view.phase == PHASE_IMPORTING
    return waiting or (view.phase == PHASE_STARTING and not view.account.seconds)
