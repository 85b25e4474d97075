"""Tries live fixes in a running script: switches each on and off, and measures what it brings."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from typing import Literal

from ...agent.protocol.events import Command, SetFixes
from ...agent.protocol.names import FIX_ON, FIX_REFUSED, FIX_ROLLED_BACK
from ...diagnosis.finding import Finding
from ...own_error import say
from ...state.live_fixes import OfferedFix, promised_ratios
from ...state.view import View
from ...stats.effect import LEAST_AFTER, Effect
from .trial import Trial

#: Times that each fix is switched on, so that a drift of the machine cannot pass for an effect.
_ROUNDS = 3
#: Seconds with a fix, or more until its effect is known; without it in between; to wait for an answer.
_ON, _ON_AT_MOST, _OFF, _ANSWER = 5.0, 20.0, 3.0, 30.0
#: Steps before a fix is switched on: without them there is nothing to compare with.
_LEAST_BEFORE = LEAST_AFTER + 2


class LiveTrials:
    """Tries each fix that the findings offer; looks at every view of the run."""

    def __init__(self, send: Callable[[Command], None]) -> None:
        self._send = send
        self.trials: list[Trial] = []
        self.was_switched_on = False
        self._current: tuple[Trial, OfferedFix] | None = None
        self._tried: set[str] = set()
        self._round = 0
        self._phase: Literal["asked", "on", "off"] = "off"
        self._until = math.inf
        self._answers = 0

    def look(self, view: View) -> bool:
        """Go on with the trials; return whether one is under way."""
        now = time.monotonic()
        if self._current is not None:
            self._continue(view, *self._current, now)
        elif (found := self._next(view)) is not None:
            self._begin(view, *found, now)
        return self._current is not None

    def _next(self, view: View) -> tuple[Finding, OfferedFix] | None:
        if view.iterations < _LEAST_BEFORE:
            return None
        offers = {offer.id: offer for offer in view.offers if offer.id not in self._tried}
        return next(
            ((f, offers[f.fix.live]) for f in with_symptoms(view.findings) if f.fix.live in offers), None
        )

    def _begin(self, view: View, f: Finding, offer: OfferedFix, now: float) -> None:
        say(f"tfslowtop: trying to {offer.title} ({f.where}) …")
        trial = Trial(f, "live", offer.title, promised_ratios(f))
        self._current = trial, offer
        self._tried.add(offer.id)
        self.trials.append(trial)
        self._round = 0
        self._switch_on(view, offer, now)

    def _switch_on(self, view: View, offer: OfferedFix, now: float) -> None:
        self._round += 1
        self._phase, self._until = "asked", now + _ANSWER
        self._answers = _newest(view, offer).answers
        self._send(SetFixes((offer.id,)))

    def _continue(self, view: View, trial: Trial, first: OfferedFix, now: float) -> None:
        offer = _newest(view, first)
        if offer.status in (FIX_REFUSED, FIX_ROLLED_BACK) and offer.answers > self._answers:
            trial.status = "refused" if offer.status == FIX_REFUSED else "rolled-back"
            trial.reason = offer.sentence
            self._finish()
        elif self._phase == "asked" and offer.status == FIX_ON and offer.answers > self._answers:
            self.was_switched_on = True
            trial.same = True if offer.compared else None
            trial.same_words = "" if offer.compared else offer.sentence
            self._phase, self._until, self._answers = "on", now + _ON, offer.answers
        elif now < self._until:
            return
        elif self._phase == "asked":
            trial.reason = "The function was not called again."
            self._finish()
        elif self._phase == "on":
            if self._newest_effect(view, offer) is None and now < self._until + _ON_AT_MOST - _ON:
                return
            self.collect(view)
            if self._round == _ROUNDS:
                self._finish()
            else:
                self._send(SetFixes(()))
                self._phase, self._until = "off", now + _OFF
        else:
            self._switch_on(view, offer, now)

    def collect(self, view: View) -> None:
        """Take what the newest toggle brought, if it switched the current fix on and was measured."""
        if self._current is None or self._phase != "on":
            return
        trial, offer = self._current
        effect = self._newest_effect(view, offer)
        if effect is not None:
            trial.effects.append(effect)
            trial.status, trial.reason = "kept", ""
        self._phase = "off"

    @staticmethod
    def _newest_effect(view: View, offer: OfferedFix) -> Effect | None:
        newest = view.marks[-1] if view.marks else None
        is_ours = newest is not None and newest.changed == (offer.id,) and offer.id in newest.fixes
        return newest.effect if newest is not None and is_ours else None

    def note_failure(self, words: str) -> None:
        """Blame the fix that was on when the script failed."""
        if self._current is not None and self._phase == "on":
            trial, _ = self._current
            trial.status, trial.reason = "failed", f"The script failed while it was on: {words}"

    def _finish(self) -> None:
        self._send(SetFixes(()))
        self._current = None


def with_symptoms(findings: Iterable[Finding]) -> list[Finding]:
    return [g for f in findings for g in (f, *f.symptoms)]


def _newest(view: View, offer: OfferedFix) -> OfferedFix:
    return next((o for o in view.offers if o.id == offer.id), offer)
