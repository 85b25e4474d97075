"""What six moving curves cost: CPU per frame, and bytes per second to the terminal.

    python benchmarks/bench_drawing.py [--seconds 3] [--repeats 5] [--rate 8]

Every variant is a fresh app with six panels of 60x3 cells, fed in real time; a driver that writes nowhere
counts the bytes. The variants of one repeat run in shuffled order, and two of them twice ("again"): what
differs between these is noise. A frame of the idle app is what remains when nothing is fed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

# Read when Textual is imported: the longest colour codes, whatever this terminal is.
os.environ["TEXTUAL_COLOR_SYSTEM"] = "truecolor"

import numpy as np
from textual.app import App, ComposeResult
from textual.containers import Grid
from textual.drivers.headless_driver import HeadlessDriver
from textual.widget import Widget
from textual.widgets import Sparkline

from tfslowtop.ui.widgets.charts.chart import Plot
from tfslowtop.ui.widgets.charts.drawing import CurveData, Mode, columns_per_cell

WIDTH, HEIGHT, PANELS = 60, 3, 6
SAMPLES = 16  # per column
_RNG = np.random.default_rng(5)
_NOISE = 1 + 0.03 * _RNG.standard_normal((PANELS, 4096, SAMPLES))
_SLOW = np.where(_RNG.random((PANELS, 4096, SAMPLES)) < 0.004, 1.8, 1.0)


@dataclass(frozen=True, slots=True)
class Variant:
    name: str
    column: float = 0.5
    """Seconds per column."""
    mode: Mode = "block"
    live: bool = False
    """The newest column is shown while it fills."""
    kind: str = "curve"


VARIANTS = (
    Variant("idle", kind="idle"),
    Variant("idle again", kind="idle"),
    Variant("curve, column 0.125 s", 0.125),
    Variant("curve, column 0.25 s", 0.25),
    Variant("curve, column 0.5 s", 0.5),
    Variant("curve, column 0.5 s again", 0.5),
    Variant("curve, column 0.5 s, live", 0.5, live=True),
    Variant("curve, column 1 s", 1.0),
    Variant("curve, column 1 s, live", 1.0, live=True),
    Variant("braille, column 0.5 s", 0.5, "braille"),
    Variant("ascii, column 0.5 s", 0.5, "ascii"),
    Variant("Sparkline, column 0.125 s", 0.125, kind="sparkline"),
    Variant("Sparkline, column 0.5 s", 0.5, kind="sparkline"),
)

SHAPES: tuple[Callable[[np.ndarray], np.ndarray], ...] = (
    lambda c: 4 + (c % 150) * 0.25,  # slower and slower, restarted
    lambda c: 12 + 0 * c,  # flat
    lambda c: 900 + (c % 40) * 15,  # memory, a saw
    lambda c: np.where(c % 17 == 0, 6.0, 0.0),  # something counted, mostly none
    lambda c: np.where(c % 120 < 60, 40.0, 4.0),  # a fix, on and off, with mark and baseline
    lambda c: 55 + 30 * np.sin(c / 9),  # a load
)


def window(panel: int, seconds: float, variant: Variant) -> CurveData:
    """What the panel shows at that time. Samples are fixed by column, so a scroll only shifts them."""
    columns = WIDTH * columns_per_cell(variant.mode)
    full, part = divmod(seconds / variant.column, 1)
    last = int(full) + (1 if variant.live and part else 0)
    column = np.arange(last - columns, last)
    base = SHAPES[panel](column)[:, None]
    samples = base * _NOISE[panel, column % 4096] * _SLOW[panel, column % 4096]
    lo, mid, hi = samples.min(axis=1), np.median(samples, axis=1), samples.max(axis=1)
    if variant.live and part:
        now = samples[-1, : max(1, int(part * SAMPLES))]
        lo[-1], mid[-1], hi[-1] = now.min(), np.median(now), now.max()
    if panel != 4:
        return CurveData(lo, mid, hi)
    marks = tuple(np.flatnonzero(column % 60 == 0).tolist())
    return CurveData(lo, mid, hi, marks, np.full(columns, 40.0))


class CountingDriver(HeadlessDriver):
    """Lets Textual render for a terminal, and counts instead of writing."""

    written = 0

    @property
    def is_headless(self) -> bool:
        return False

    def write(self, data: str) -> None:
        CountingDriver.written += len(data.encode())


class Six(App[None]):
    CSS = f"""
    Grid {{ grid-size: 2; grid-columns: {WIDTH + 2}; grid-rows: {HEIGHT + 2}; }}
    Plot, Sparkline {{ width: {WIDTH + 2}; height: {HEIGHT + 2}; border: round $panel; }}
    """

    def __init__(self, variant: Variant) -> None:
        super().__init__(driver_class=CountingDriver)
        self.variant = variant

    def compose(self) -> ComposeResult:
        with Grid():
            for _ in range(PANELS):
                yield Sparkline([1.0]) if self.variant.kind == "sparkline" else Plot(mode=self.variant.mode)

    def feed(self, seconds: float) -> None:
        panels: list[Widget] = [*self.query(Plot), *self.query(Sparkline)]
        for number, panel in enumerate(panels):
            data = window(number, seconds, self.variant)
            if isinstance(panel, Plot):
                panel.update(data, now=seconds)
            elif isinstance(panel, Sparkline):
                # A list that compares equal is not painted again: the same courtesy as for the curve.
                panel.data = data.mid.tolist()


@dataclass(frozen=True, slots=True)
class Cost:
    cpu_ms: float
    """Per frame, everything included."""
    kb: float
    """Per second."""


async def measure(variant: Variant, seconds: float, rate: float) -> Cost:
    app = Six(variant)
    running = asyncio.create_task(app.run_async(size=(2 * WIDTH + 8, 24), mouse=False))
    await asyncio.sleep(0.6)
    app.feed(0.0)
    await asyncio.sleep(0.3)
    frames = round(seconds * rate)
    bytes_before, cpu_before, start = CountingDriver.written, time.process_time(), time.perf_counter()
    for frame in range(1, frames + 1):
        await asyncio.sleep(max(0.0, start + frame / rate - time.perf_counter()))
        if variant.kind != "idle":
            app.feed(200 + frame / rate)
    await asyncio.sleep(1 / rate)  # the last one is painted, too
    cpu, sent = time.process_time() - cpu_before, CountingDriver.written - bytes_before
    app.exit()
    await running
    return Cost(1000 * cpu / frames, sent / seconds / 1000)


def feeding_ms() -> float:
    """What making the benchmark's own data costs per frame: not drawing, to be taken off."""
    start = time.process_time()
    for frame in range(50):
        for panel in range(PANELS):
            window(panel, 200 + frame / 8, VARIANTS[2])
    return 1000 * (time.process_time() - start) / 50


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--seconds", type=float, default=3.0)
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--rate", type=float, default=8.0, help="frames per second")
    chosen = options.parse_args()
    costs: dict[str, list[Cost]] = {variant.name: [] for variant in VARIANTS}
    for _ in range(chosen.repeats):
        for variant in random.sample(VARIANTS, len(VARIANTS)):
            costs[variant.name].append(asyncio.run(measure(variant, chosen.seconds, chosen.rate)))
    feeding = statistics.median(feeding_ms() for _ in range(5))
    idle = statistics.median(cost.cpu_ms for cost in costs["idle"])
    print(f"six panels of {WIDTH}x{HEIGHT}, {chosen.rate:g} Hz, median of {chosen.repeats}; per frame the")
    print(f"idle app takes {idle:.2f} ms and making the data {feeding:.2f} ms: both are taken off below")
    print(f"{'':28} {'CPU ms/frame':>13} {'(min–max)':>13} {'KB/s':>8}")
    for name, runs in costs.items():
        off = idle + (0 if name.startswith("idle") else feeding)
        cpu = sorted(run.cpu_ms - off for run in runs)
        sent = statistics.median(run.kb for run in runs)
        print(f"{name:28} {statistics.median(cpu):13.2f} {cpu[0]:6.2f}–{cpu[-1]:<6.2f} {sent:8.1f}")


if __name__ == "__main__":
    main()
