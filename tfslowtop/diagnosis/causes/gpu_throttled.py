"""gpu-throttled: the driver lowers the GPU's clock."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...agent.protocol.names import (
    GPU_CLOCK,
    GPU_CLOCK_MAX,
    GPU_POWER,
    GPU_POWER_LIMIT,
    GPU_TEMPERATURE,
    GPU_THROTTLE,
    GPU_UTILISATION,
)
from ..cause import Area, Cause, Detector
from ..conditions import Condition, Readings, Usual, is_unused
from ..facts import Facts
from ..finding import Finding
from ..machine_episodes import MachineEpisode
from ..names import GPU_THROTTLED
from ..readings.episodes import Description, gpu_name, report

#: NVML's reasons for clocks lowered by temperature or by the hardware: thermal slowdown (0x20 by software, 0x40 by
#: hardware), power brake (0x80) and any hardware slowdown (0x8).
TEMPERATURE = 0x20 | 0x40
POWER_BRAKE = 0x80
HEAT = TEMPERATURE | POWER_BRAKE | 0x8
#: NVML's reason for the power cap.
CAP = 0x4
#: The share of the highest clock below which heat is reported: small changes of the clock are normal.
SLOWED = 0.8
#: The share of the earlier clock below which the power cap is reported. GPUs at full load run at their cap (an H100
#: then reaches some 75 % of its highest clock), so that it is news only if somebody has lowered the limit.
CAPPED = 0.7
#: Percent of the time in which a kernel runs. The program does not wait for a GPU with less to do.
BUSY = 30.0


def share_lost(now: Readings, usual: Usual) -> float | None:
    """Return the share of the speed that the lower clock costs."""
    bits, busy = int(now.get(GPU_THROTTLE, 0)), now.get(GPU_UTILISATION, 0.0)
    clock, top = now.get(GPU_CLOCK, 0.0), now.get(GPU_CLOCK_MAX, 0.0)
    if busy < BUSY or not clock or is_unused(now):
        return None
    if bits & HEAT and clock < SLOWED * top:
        before = usual(GPU_CLOCK) if usual(GPU_CLOCK) > clock else top
    elif bits & CAP and clock < CAPPED * usual(GPU_CLOCK) and usual(GPU_UTILISATION) >= BUSY:
        before = usual(GPU_CLOCK)
    else:
        return None
    return (1 - clock / before) * busy / 100


CAUSE = Cause(
    id=GPU_THROTTLED,
    area=Area.MACHINE,
    headline="The GPU runs at a lower clock because of heat or power",
    mechanism="The driver lowers the GPU's clock to keep its temperature or its power within limits.",
    advice="Improve the cooling, or raise the power limit.",
    after="nvidia-smi -q -d PERFORMANCE  # shows why the clock is low",
    scenario=None,
    condition=Condition(
        GPU_THROTTLED,
        (
            GPU_CLOCK,
            GPU_CLOCK_MAX,
            GPU_UTILISATION,
            GPU_TEMPERATURE,
            GPU_POWER,
            GPU_POWER_LIMIT,
            GPU_THROTTLE,
        ),
        share_lost,
        per_gpu=True,
    ),
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    return report(facts, CAUSE, _describe)


def _describe(episode: MachineEpisode) -> Description:
    now, gpu = episode.during, gpu_name(episode)
    before, top = (
        episode.before.get(GPU_CLOCK, now.get(GPU_CLOCK_MAX, math.nan)),
        now.get(GPU_CLOCK_MAX, math.nan),
    )
    reason = _reason(now)
    return Description(
        f"{gpu}'s clock fell from {before:,.0f} to {now[GPU_CLOCK]:,.0f} MHz {reason}",
        f"{gpu}'s clock {{is}} held at {now[GPU_CLOCK]:,.0f} of {top:,.0f} MHz {reason}",
    )


def _reason(now: Readings) -> str:
    bits, degrees, watts = int(now.get(GPU_THROTTLE, 0)), now.get(GPU_TEMPERATURE), now.get(GPU_POWER_LIMIT)
    reasons = []
    if bits & HEAT:
        reasons.append(
            "heat" if bits & TEMPERATURE else "power brake" if bits & POWER_BRAKE else "hardware slowdown"
        )
    elif bits & CAP:
        reasons.append(f"power cap of {watts:.0f} W" if watts is not None else "power cap")
    if degrees is not None:
        reasons.append(f"{degrees:.0f} °C")
    return f"({', '.join(reasons)})"


DETECTOR = Detector(detect, (CAUSE,))
