"""Measure all scenarios for `tfslowtop verify`, and make a table of the results."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ..catalogue.find import Entry
from ..sources.source import SourceError
from ..stats.trend import describe
from .scenarios import HeadlessScenario, Result

COLUMNS = (
    "scenario",
    "kind",
    "verdict here",
    "ms",
    "broken ÷ fixed, wall (95 % CI)",
    "CPU",
    "slope",
    "memory per it",
)


def table(results: Sequence[Result]) -> str:
    """Return the results as a table in Markdown."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for r in results:
        if r.failure:
            lines.append(f"| `{r.id}` | {r.kind} | failed: {r.failure} |" + " |" * (len(COLUMNS) - 3))
            continue
        e = r.effect
        ratio = f"{_short(e.wall.value)} ({_short(e.wall.low)}–{_short(e.wall.high)})" if e else "–"
        cpu = _short(e.cpu.value) if e and e.cpu else "–"
        leak: str = r.memory.direction if r.memory else "–"
        if r.memory and r.memory.direction == "rising":
            leak = f"{r.memory.slope / 1e3:+.1f} kB"
        outcome = ": ".join(filter(None, [r.verdict.outcome, ", ".join(r.verdict.found)]))
        cells = [f"`{r.id}`", r.kind, outcome, _short(r.median_ms), ratio, cpu, _slope(r), leak]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _short(value: float) -> str:
    """Format a number with three digits, and never as 1.4e+03."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _slope(r: Result) -> str:
    """Describe the latency: `rising +36 %/100 it, ×4.1 in 15 s; fixed: flat`, or in one word."""
    if r.latency is None:
        return "–"
    text = describe(r.latency)
    if r.latency.direction == "rising":
        text += f", ×{r.latency.climb:.1f} in {r.seconds:.0f} s"
        if r.effect is not None:
            after = r.effect.after
            fixed = describe(after) if after.direction != "unclear" else f"×{after.climb:.1f}"
            text += f"; fixed: {fixed}"
    return text


def footnote(results: Sequence[Result]) -> str:
    """Say what the table was measured on, and how many verdicts agree with the scenarios."""
    loads = [result.load for result in results] or [0.0]
    right = sum(bool(result.as_declared) for result in results)
    return (
        f"Measured on {machine()}, {time.strftime('%Y-%m-%d')}, at a load average of {min(loads):.1f} to "
        f"{max(loads):.1f}. {right} of {len(results)} verdicts agree with the scenario's kind."
    )


def machine() -> str:
    """Describe the machine and the versions of what ran on it."""
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
    return f"{os.cpu_count()} × {name}, Python {platform.python_version()}, {packages}"


def verify(entries: Sequence[Entry], on_result: Callable[[Result], None], *, seconds: float) -> list[Result]:
    """Measure each scenario alone and against its fixed version, for up to `seconds` each as a rule."""
    results = []
    for entry in entries:
        print(f"{entry.id} …", file=sys.stderr, flush=True)
        headless = HeadlessScenario(entry, params={}, compared=True)
        try:
            result = headless.go(seconds=seconds, compare=seconds, early=True)
        except SourceError:
            raise
        except Exception as error:
            result = headless.broken(error)  # the others are still worth measuring
        results.append(result)
        on_result(result)
    return results
