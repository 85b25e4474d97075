"""Try live fixes on a script without a screen: switch each on and off, and measure what it brings."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..agent.protocol.events import Ended, SetFixes
from ..agent.protocol.names import FIX_ON, FIX_REFUSED, FIX_ROLLED_BACK
from ..diagnosis.finding import Finding
from ..own_error import say
from ..run import Lens, Run
from ..sources.script import ScriptSource, pass_signals_on
from ..state.live_fixes import OfferedFix, promised_ratio
from ..state.verdict import SHOWN
from ..state.view import View
from ..stats.effect import Effect
from .files import ResultFile, as_json

Status = Literal["kept", "refused", "rolled-back", "failed"]

#: Times that each fix is switched on, so that a drift of the machine cannot pass for an effect.
_ROUNDS = 3
#: Seconds with a fix, seconds without it in between, and seconds to wait for an answer.
_ON, _OFF, _ANSWER = 5.0, 3.0, 30.0
#: Seconds of findings that cannot be tried, or of none, after which there is nothing more to wait for.
_NOTHING_NEW = 20.0


@dataclass(slots=True)
class Trial:
    """One fix that is tried for one finding."""

    finding: Finding
    offer: OfferedFix
    promised: float
    """How many times faster a step should get; 0 if unknown."""
    effects: list[Effect] = field(default_factory=list)
    status: Status = "failed"
    reason: str = "The script ended before it could be measured."
    compared: bool = False

    @property
    def measured(self) -> tuple[float, float, float] | None:
        """The typical ratio, with the widest interval of all rounds."""
        if not self.effects:
            return None
        lows, highs = [e.low for e in self.effects], [e.high for e in self.effects]
        return statistics.median(e.ratio for e in self.effects), min(lows), max(highs)

    @property
    def is_worth_it(self) -> bool:
        measured = self.measured
        return self.status == "kept" and measured is not None and measured[1] > SHOWN


class WhatIf:
    """Runs a script, tries each fix that its findings offer, and stops the script when all are tried."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        python: str | None = None,
        step: str | None = None,
        json: str | None = None,
        max_seconds: float = 300.0,
    ) -> None:
        """Raise SourceError if the script cannot run or the file cannot be written; start nothing yet."""
        self._argv = argv
        self._source = ScriptSource(argv, python=python, step=step, headless=True, stdout_to_stderr=True)
        self._source.check()
        self._file = ResultFile(json) if json else None
        self._max = max_seconds
        self._run = Run(self._source, Lens(columns=2), self._look, to_the_end=True)
        self.trials: list[Trial] = []
        self._current: Trial | None = None
        self._round = 0
        self._phase: Literal["asked", "on", "off"] = "off"
        self._until = math.inf
        self._marks = 0
        self._answers = 0
        self._last_new = 0.0
        self._stopped = False

    def go(self) -> Ended | None:
        """Start the script, try the fixes, and wait for its end."""
        with pass_signals_on(self._source):
            self._run.pump()
        if self._run.error is not None:
            raise self._run.error
        if self._file is not None and (problem := self._file.write(as_json(self.document()))):
            say(f"tfslowtop: {problem}")
        return self._run.ended

    @property
    def was_stopped(self) -> bool:
        """Whether we stopped the script, because all fixes were tried or the time was up."""
        return self._stopped

    # Trying

    def _look(self, view: View) -> None:
        now = time.monotonic()
        self._last_new = self._last_new or now
        if view.ended is not None or self._stopped:
            self._collect(view)
            return
        if now - self._run.started >= self._max:
            self._collect(view)
            self._stop()
        elif self._current is not None:
            self._continue(view, self._current, now)
        elif (found := self._next(view)) is not None:
            self._begin(view, *found, now)
        elif view.iterations and now - self._last_new > _NOTHING_NEW:
            self._stop()

    def _next(self, view: View) -> tuple[Finding, OfferedFix] | None:
        tried = {trial.offer.id for trial in self.trials}
        offers = {offer.id: offer for offer in view.offers if offer.id not in tried}
        findings = [g for f in view.findings for g in (f, *f.symptoms)]
        return next(((f, offers[f.fix.live]) for f in findings if f.fix.live in offers), None)

    def _begin(self, view: View, f: Finding, offer: OfferedFix, now: float) -> None:
        say(f"tfslowtop: trying to {offer.title} ({f.where}) …")
        self._current = Trial(f, offer, promised_ratio(f))
        self.trials.append(self._current)
        self._round = 0
        self._switch_on(view, now)

    def _switch_on(self, view: View, now: float) -> None:
        assert self._current is not None
        self._round += 1
        self._phase, self._until = "asked", now + _ANSWER
        self._answers = self._offer(view, self._current).answers
        self._source.send(SetFixes((self._current.offer.id,)))

    @staticmethod
    def _offer(view: View, trial: Trial) -> OfferedFix:
        return next((o for o in view.offers if o.id == trial.offer.id), trial.offer)

    def _continue(self, view: View, trial: Trial, now: float) -> None:
        offer = self._offer(view, trial)
        if offer.status in (FIX_REFUSED, FIX_ROLLED_BACK) and offer.answers > self._answers:
            trial.status = "refused" if offer.status == FIX_REFUSED else "rolled-back"
            trial.reason = offer.sentence
            self._finish(now)
        elif self._phase == "asked" and offer.status == FIX_ON and offer.answers > self._answers:
            trial.reason, trial.compared = offer.sentence, offer.compared
            self._phase, self._until, self._answers = "on", now + _ON, offer.answers
        elif now < self._until:
            return
        elif self._phase == "asked":
            trial.reason = "The function was not called again."
            self._finish(now)
        elif self._phase == "on":
            self._collect(view)
            if self._round == _ROUNDS:
                self._finish(now)
            else:
                self._source.send(SetFixes(()))
                self._phase, self._until = "off", now + _OFF
        else:
            self._switch_on(view, now)

    def _collect(self, view: View) -> None:
        """Take what the newest toggle brought, if it switched the current fix on and was measured."""
        trial, marks = self._current, view.marks
        if trial is None or self._phase != "on" or not marks:
            return
        newest = marks[-1]
        if newest.changed == (trial.offer.id,) and trial.offer.id in newest.fixes and newest.effect:
            trial.effects.append(newest.effect)
            trial.status = "kept"
        self._phase = "off"

    def _finish(self, now: float) -> None:
        self._source.send(SetFixes(()))
        self._current, self._last_new = None, now

    def _stop(self) -> None:
        self._stopped = True
        self._source.stop()

    # Results

    @property
    def worth_changing(self) -> bool:
        return any(trial.is_worth_it for trial in self.trials)

    def document(self) -> dict[str, object]:
        return {"schema": 1, "argv": list(self._argv), "tried": [_as_dict(trial) for trial in self.trials]}

    def table(self) -> str:
        """Return one paragraph per trial, and what was found as a whole."""
        if not self.trials:
            return "Nothing to try: no finding has a fix that works in the running script."
        lines = []
        for trial in self.trials:
            promised = f"×{trial.promised:.3g}" if trial.promised else "unknown"
            lines += [
                f"{trial.finding.cause}  {trial.finding.where}",
                f"  change        {trial.offer.title}",
                f"  promised      {promised}",
                f"  measured      {_measured(trial)}",
                f"  same results  {_same(trial)}",
            ]
        worth = sum(trial.is_worth_it for trial in self.trials)
        lines.append(f"{worth} of {len(self.trials)} worth changing.")
        return "\n".join(lines)


def _measured(trial: Trial) -> str:
    if trial.status != "kept" or trial.measured is None:
        return f"{trial.status}: {trial.reason}"
    ratio, low, high = trial.measured
    before = 1e3 * statistics.median(e.level_before for e in trial.effects)
    after = 1e3 * statistics.median(e.level_after for e in trial.effects)
    times = len(trial.effects)
    return (
        f"×{ratio:.3g} (95 % CI {low:.3g}–{high:.3g}), {before:.3g} → {after:.3g} ms per step, "
        f"switched on {times} {'time' if times == 1 else 'times'}"
    )


def _same(trial: Trial) -> str:
    if trial.status != "kept":
        return "-"
    return "yes" if trial.compared else f"not compared. {trial.reason}"


def _as_dict(trial: Trial) -> dict[str, object]:
    f, measured = trial.finding, trial.measured
    return {
        "cause": f.cause,
        "file": f.file,
        "line": f.line,
        "symbol": f.symbol,
        "change": trial.offer.title,
        "how": "live",
        "status": trial.status,
        "reason": trial.reason,
        "promised": [1.0 if f.basis == "at most" else trial.promised, trial.promised],
        "measured": dict(zip(("ratio", "low", "high"), measured, strict=True)) if measured else None,
        "same_results": True if trial.compared and trial.status == "kept" else None,
        "diff": None,
    }
