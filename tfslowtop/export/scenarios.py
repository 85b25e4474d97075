"""Measure scenarios without a screen, for `run` and `verify`."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from .. import own_error
from ..agent.protocol.events import Compare
from ..catalogue.find import Entry
from ..diagnosis.finding import Finding
from ..diagnosis.make import ms
from ..run import Lens, Run
from ..scenario import ScenarioError
from ..sources.scenario import ChildSource
from ..state.account import AccountView
from ..state.verdict import STALE, Verdict, calm, certain, fits, judge
from ..state.view import View
from ..stats.effect import Effect, sentence
from ..stats.trend import Trend
from .account import account_as_json, describe_account
from .findings import finding, sentence_with_cause
from .wording import counted

#: Seconds of one block of an A/B test in the app.
BLOCK_SECONDS = 0.3
#: Without anybody watching, a block takes this many iterations, within these seconds: shorter blocks make
#: more pairs, and so a certain result sooner.
BLOCK_ITERATIONS, SHORTEST, LONGEST = 10, 0.1, 0.4
#: The fewest seconds of a measurement that may end early: alone, alone when something was found (memory may
#: just be filling up), and in the A/B test.
LEAST_ALONE, LEAST_FOUND, LEAST_COMPARED = 4.0, 7.0, 2.0
#: Seconds for which a verdict must not have changed before a measurement ends early.
STABLE = 1.2
#: How many times longer an inconclusive A/B test takes.
LONGER = 3.0
#: Seconds for which a rising latency is watched, to see how far it climbs, and then at least for the A/B
#: test, because the fixed version needs a slope too.
CLIMB, LEAST_AFTER_CLIMB = 15.0, 6.0


@dataclass(frozen=True, slots=True)
class Result:
    """What one scenario showed here."""

    id: str
    kind: str
    claim: str
    fixes: tuple[str, ...]
    iterations: int
    median_ms: float
    p95_ms: float
    latency: Trend | None
    memory: Trend | None
    pause_share: float
    retraces: int
    effect: Effect | None
    verdict: Verdict
    as_declared: bool | None
    """Whether the verdict confirms the scenario's kind; None if too little was measured."""
    seconds: float
    """How long it was watched alone."""
    load: float
    """The machine's load average at the end."""
    findings: tuple[Finding, ...] = ()
    """What the diagnosis found while it ran alone, as it would in any script."""
    account: AccountView = field(default_factory=AccountView)
    """Where the time went meanwhile."""
    failure: str = ""
    own_error: bool = False
    """Whether the failure is a bug in tfslowtop."""


class HeadlessScenario:
    """Measures one scenario, first alone and then in an A/B test if asked to."""

    def __init__(
        self, entry: Entry, *, params: Mapping[str, str], fixes: Sequence[str] = (), compared: bool = False
    ) -> None:
        """With `compared`, `fixes` are those of the fixed version, and alone it runs without them."""
        if entry.scenario is None:
            raise entry.error or ScenarioError("cannot be read", str(entry.path))
        self.entry, self.scenario = entry, entry.scenario
        self.scenario.values(params)
        known = [fix.id for fix in self.scenario.fixes]
        for fix in fixes:
            if fix not in known:
                raise ScenarioError(
                    f"{entry.id} has no fix {fix!r}; its fixes are: {', '.join(known) or 'none'}."
                )
        self._fixes = tuple(fixes)
        on = self.scenario.base if compared else tuple(fixes)
        source = ChildSource(entry.path, params=params, fixes=on, env=self.scenario.env, nice=0)
        self._run = Run(source, Lens(columns=4), self._look)
        self._view: View | None = None
        self._alone: View | None = None
        self._alone_seconds = 0.0
        self._began = 0.0
        self._said: tuple[object, float] = (None, 0.0)
        self._longer = self._stopped = False

    def go(
        self, *, iterations: int = 0, seconds: float = 10.0, compare: float = 0.0, early: bool = False
    ) -> Result:
        """Measure it alone for `iterations` or `seconds`, then in an A/B test for `compare` seconds.

        With `early`, each part ends as soon as more time would not change the verdict. Only a rising latency
        and an inconclusive A/B test take longer than asked for.
        """
        self._iterations, self._seconds, self._compare, self._early = iterations, seconds, compare, early
        self._run.pump()
        assert self._view is not None
        return self._result(self._view)

    def broken(self, error: Exception) -> Result:
        """Return the result after a bug of ours, which makes everything that was measured worthless."""
        return Result(
            id=self.entry.id,
            kind=self.scenario.kind,
            claim=self.scenario.claim,
            fixes=self._fixes,
            iterations=0,
            median_ms=math.nan,
            p95_ms=math.nan,
            latency=None,
            memory=None,
            pause_share=0.0,
            retraces=0,
            effect=None,
            verdict=Verdict("measuring", "not measured"),
            as_declared=None,
            seconds=0.0,
            load=os.getloadavg()[0],
            failure=own_error.sentence(error),
            own_error=True,
        )

    def _look(self, view: View) -> None:
        """Start the next part, or stop, if the newest view has enough data."""
        self._view = view
        if not view.iterations or self._stopped:
            return
        now = time.monotonic()
        self._began = self._began or now
        elapsed = now - self._began
        if self._alone is None:
            if not self._enough_alone(view, elapsed):
                return
            self._alone, self._alone_seconds = view, elapsed
            if self._compare:
                self._began = now
                self._start_comparing(view)
                return
        elif not self._enough_compared(view, elapsed):
            return
        self._stopped = True
        self._run.stop()

    def _enough_alone(self, view: View, elapsed: float) -> bool:
        if self._iterations:
            return view.iterations >= self._iterations
        if not self._early:
            return elapsed >= self._seconds
        segment, verdict = view.segments[-1], self._verdict(view, None)
        plain = calm(segment.latency, segment.memory, segment.gained) or {"pauses", "stale"} & set(
            verdict.found
        )
        stable = self._is_stable((verdict.found, bool(plain)))
        if "grows" in verdict.found:
            return elapsed >= CLIMB
        least = LEAST_FOUND if verdict.found else LEAST_ALONE
        return elapsed >= self._seconds or bool(plain and stable and elapsed >= least)

    def _enough_compared(self, view: View, elapsed: float) -> bool:
        if not self._early:
            return elapsed >= self._compare
        assert self._alone is not None
        effect = view.comparison.effect if view.comparison else None
        verdict = self._verdict(self._alone, effect)
        sure, least = certain(effect), LEAST_COMPARED
        if "grows" in verdict.found:
            least = LEAST_AFTER_CLIMB
            sure = sure and effect is not None and effect.after.direction != "unclear"
        stable = self._is_stable((verdict.outcome, sure))
        if sure and stable and elapsed >= least:
            return True
        if elapsed < self._compare or self._longer:
            return elapsed >= LONGER * self._compare
        # Decide once instead of at every view: among many looks, one would show something by chance.
        self._longer = verdict.outcome in ("inconclusive", "measuring")
        return not self._longer

    def _is_stable(self, said: object) -> bool:
        """Return whether the verdict has not changed for a while; one that flickers is not a verdict."""
        now = time.monotonic()
        if said != self._said[0]:
            self._said = said, now
        return now - self._said[1] >= STABLE

    def _start_comparing(self, view: View) -> None:
        base = self.scenario.base
        fixed = tuple(dict.fromkeys((*base, *(self._fixes or self.scenario.cured_by))))
        panel = view.panel("latency")
        block = BLOCK_ITERATIONS * panel.median if panel else LONGEST
        self._run.source.send(Compare(base, fixed, min(max(block, SHORTEST), LONGEST)))

    @staticmethod
    def _verdict(alone: View, effect: Effect | None) -> Verdict:
        segment, stale = alone.segments[-1], alone.panel(STALE)
        late = stale.now if stale else 0.0
        return judge(segment.latency, segment.memory, effect, segment.pause_share, late, segment.gained)

    def _result(self, view: View) -> Result:
        alone = self._alone or view
        panel, segment = alone.panel("latency"), alone.segments[-1]
        effect = view.comparison.effect if view.comparison else None
        verdict = self._verdict(alone, effect)
        failure = ""
        if view.failure is not None:
            failure = f"{view.failure.file}:{view.failure.line}: {view.failure.message}"
        elif self._alone is None and view.ended is not None:
            failure = view.ended.how
        return Result(
            id=self.entry.id,
            kind=self.scenario.kind,
            claim=self.scenario.claim,
            fixes=self._fixes,
            iterations=alone.iterations,
            median_ms=1e3 * panel.median if panel else float("nan"),
            p95_ms=1e3 * panel.p95 if panel else float("nan"),
            latency=segment.latency,
            memory=segment.memory,
            pause_share=segment.pause_share,
            retraces=alone.traces,
            effect=effect,
            verdict=verdict,
            as_declared=None if verdict.outcome == "measuring" else fits(self.scenario.kind, verdict),
            seconds=self._alone_seconds,
            load=os.getloadavg()[0],
            findings=alone.findings,
            account=alone.account,
            failure=failure,
        )


def as_json(result: Result) -> dict[str, Any]:
    """Return a result as plain data; times are in seconds unless the name says ms."""
    plain = asdict(replace(result, findings=(), account=AccountView()))
    return {
        **plain,
        "findings": [finding(f) for f in result.findings],
        "account": account_as_json(result.account),
    }


def summary(result: Result) -> str:
    """Return a result as a few lines of text."""
    if result.failure:
        return f"{result.id}: failed: {result.failure}"
    lines = [
        f"{result.id}: {counted(result.iterations, 'iteration')}, median {ms(result.median_ms / 1e3)}, "
        f"p95 {ms(result.p95_ms / 1e3)}, {counted(result.retraces, 'trace')}",
    ]
    if result.effect is not None:
        lines.append(f"  A/B test against the fixed version: {sentence(result.effect)}")
    lines.append(f"  {result.verdict.words}")
    lines += [f"  found: {sentence_with_cause(f)}" for f in result.findings]
    return "\n".join([*lines, *describe_account(result.account)])
