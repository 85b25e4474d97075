"""Scenarios without a terminal: `list`, `run` and `verify`."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..agent.events import Compare
from ..analysis.effect import Effect, sentence
from ..analysis.trend import Trend
from ..analysis.verdict import STALE, Verdict, judge
from ..analysis.view import View
from ..catalogue import Entry
from ..scenario import ScenarioError
from ..sources.child import ChildSource
from ..watch import Lens, Run

#: Seconds of one block of an A/B run.
BLOCK_SECONDS = 0.3
#: How long a run without --iterations lasts: alone, and compared.
ALONE, COMPARED = 10.0, 10.0


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
    failure: str = ""


class Headless:
    """Drives one scenario by its views, as a person at the keys would."""

    def __init__(
        self, entry: Entry, *, params: Mapping[str, str], fixes: Sequence[str] = (), compared: bool = False
    ) -> None:
        """With `compared`, the fixes are those of the fixed twin; alone it runs broken."""
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
        self._began = 0.0
        self._stopped = False

    def go(self, *, iterations: int = 0, seconds: float = ALONE, compare: float = 0.0) -> Result:
        """Runs alone for so many iterations or seconds, then compares for `compare` seconds."""
        self._iterations, self._seconds, self._compare = iterations, seconds, compare
        self._run.pump()
        assert self._view is not None
        return self._result(self._view)

    def _look(self, view: View) -> None:
        """Called with every new view: is it time for the next part?"""
        self._view = view
        if not view.iterations or self._stopped:
            return
        now = time.monotonic()
        self._began = self._began or now
        if self._alone is None:
            enough = (
                view.iterations >= self._iterations
                if self._iterations
                else now - self._began >= self._seconds
            )
            if not enough:
                return
            self._alone = view
            if self._compare:
                base = self.scenario.base
                fixed = tuple(dict.fromkeys((*base, *(self._fixes or self.scenario.cured_by))))
                self._run.source.send(Compare(base, fixed, BLOCK_SECONDS))
                self._began = now
                return
        elif now - self._began < self._compare:
            return
        self._stopped = True
        self._run.stop()

    def _result(self, view: View) -> Result:
        alone = self._alone or view
        panel, segment, stale = alone.panel("latency"), alone.segments[-1], alone.panel(STALE)
        effect = view.comparison.effect if view.comparison else None
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
            verdict=judge(
                segment.latency, segment.memory, effect, segment.pause_share, stale.now if stale else 0.0
            ),
            failure=failure,
        )


def listing(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """The catalogue as data."""
    rows = []
    for entry in entries:
        row: dict[str, Any] = {"id": entry.id}
        if entry.scenario is not None:
            row |= asdict(entry.scenario)
        else:
            row["error"] = str(entry.error)
        rows.append(row)
    return rows


def as_json(result: Result) -> dict[str, Any]:
    """A result as plain data; times in seconds unless the name says ms."""
    return asdict(result)


def summary(result: Result) -> str:
    """A few lines for a person."""
    if result.failure:
        return f"{result.id}: failed: {result.failure}"
    lines = [
        f"{result.id}: {result.iterations:,} iterations, median {result.median_ms:.3g} ms, "
        f"p95 {result.p95_ms:.3g} ms, {result.retraces} traces",
    ]
    if result.effect is not None:
        lines.append(f"  against the fixed one: {sentence(result.effect)}")
    return "\n".join([*lines, f"  {result.verdict.words}"])


def table(results: Sequence[Result]) -> str:
    """The table of `tfslowtop verify`, in Markdown."""
    head = "| scenario | kind | verdict here | broken ÷ fixed, wall (95 % CI) | CPU | slope | memory per it |"
    lines = [head, "|---|---|---|---|---|---|---|"]
    for r in results:
        if r.failure:
            lines.append(f"| `{r.id}` | {r.kind} | failed: {r.failure} | | | | |")
            continue
        e = r.effect
        ratio = f"{e.wall.value:.3g} ({e.wall.low:.3g}–{e.wall.high:.3g})" if e else "–"
        cpu = f"{e.cpu.value:.3g}" if e and e.cpu else "–"
        slope: str = r.latency.direction if r.latency else "–"
        if r.latency is not None and r.latency.direction in ("rising", "falling"):
            slope += f" {r.latency.percent:+.3g} %/100 it"
        leak = f"{r.memory.slope / 1024:+.1f} KB" if r.memory and r.memory.direction == "rising" else "flat"
        outcome = ": ".join(filter(None, [r.verdict.outcome, ", ".join(r.verdict.found)]))
        lines.append(f"| `{r.id}` | {r.kind} | {outcome} | {ratio} | {cpu} | {slope} | {leak} |")
    return "\n".join(lines)


def machine() -> str:
    """What the figures were measured on."""
    name = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                name = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    from importlib.metadata import version

    packages = ", ".join(f"{p} {version(p)}" for p in ("tensorflow", "keras", "numpy"))
    load = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} × {name}, Python {platform.python_version()}, {packages}, load average {load:.1f}"
    )


def verify(entries: Sequence[Entry], on_result: Callable[[Result], None], *, seconds: float) -> list[Result]:
    """Every scenario alone, then against its fixed twin."""
    results = []
    for entry in entries:
        print(f"{entry.id} …", file=sys.stderr, flush=True)
        result = Headless(entry, params={}, compared=True).go(seconds=seconds, compare=seconds)
        results.append(result)
        on_result(result)
    return results
