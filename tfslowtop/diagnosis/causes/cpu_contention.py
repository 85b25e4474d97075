"""cpu-contention: other processes use the cores that the program needs."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...agent.protocol.names import (
    GAUGE_CPU_WAIT,
    GAUGE_CPUS_ALLOWED,
    GAUGE_MACHINE_CPUS,
    GAUGE_MACHINE_OTHERS,
)
from ..cause import Area, Cause, Detector
from ..conditions import Condition, Readings, Usual
from ..facts import Facts
from ..finding import Finding
from ..machine_episodes import MachineEpisode
from ..names import CPU_CONTENTION
from ..readings.episodes import NOW, Description, report
from . import cpu_throttled

#: Percent of the time in which threads were ready but had no core. Any shared machine shows some; two busy neighbours
#: on two cores cause a third.
READY = 30.0
#: The share of the program's cores that others use. With less than half, the program competes with itself.
CROWDED = 0.5
#: If others used this share of their present CPU time before, they were there already and the program wants more.
ALREADY_THERE = 0.75


def share_lost(now: Readings, usual: Usual) -> float | None:
    """Return the share of the time in which threads wait for a core that others use."""
    wait, others = now.get(GAUGE_CPU_WAIT, 0.0), now.get(GAUGE_MACHINE_OTHERS, 0.0)
    cores = now.get(GAUGE_CPUS_ALLOWED) or now.get(GAUGE_MACHINE_CPUS, 1.0)
    throttled = cpu_throttled.share_lost(now, usual) is not None
    if wait < READY or others < 100 * CROWDED * cores or throttled:
        return None
    return wait / 100


CAUSE = Cause(
    id=CPU_CONTENTION,
    area=Area.MACHINE,
    headline="Other processes use the cores the program needs",
    mechanism="The program is ready to run but has to wait for a core that another process uses.",
    advice="Stop the other processes, or move the program to a quiet machine.",
    after="top  # shows which processes use the cores",
    scenario=None,
    condition=Condition(
        CPU_CONTENTION, (GAUGE_CPU_WAIT, GAUGE_MACHINE_OTHERS, GAUGE_MACHINE_CPUS), share_lost
    ),
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    return report(facts, CAUSE, _describe)


def _describe(episode: MachineEpisode) -> Description:
    now = episode.during
    used, cores = now[GAUGE_MACHINE_OTHERS] / 100, now.get(GAUGE_MACHINE_CPUS, math.nan)
    waits = f"{{waits}} for a CPU core {now[GAUGE_CPU_WAIT]:.0f} % of the time"
    state = f"the program {waits}: other processes {{use}} {used:.1f} of {cores:.0f} cores"
    before = episode.before.get(GAUGE_MACHINE_OTHERS, 0.0) / 100
    if before > ALREADY_THERE * used:
        change = f"the program needed more CPU while other processes used {used:.1f} of {cores:.0f} cores: it {waits}"
    else:
        change = (
            f"other processes went from {before:.1f} to {used:.1f} of {cores:.0f} cores: the program {waits}"
        )
    return Description(change.format(**NOW), state)


DETECTOR = Detector(detect, (CAUSE,))
