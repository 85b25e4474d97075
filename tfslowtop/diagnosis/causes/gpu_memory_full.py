"""gpu-memory-full: the GPU's memory, or TensorFlow's pool in it, is full."""

from __future__ import annotations

from collections.abc import Iterator

from ...agent.protocol.names import (
    GPU_MEMORY,
    GPU_MEMORY_OTHERS,
    GPU_MEMORY_TOTAL,
    TF_GPU_LIMIT,
    TF_GPU_MEMORY,
    TF_GPU_PEAK,
)
from ..cause import Area, Cause, Detector
from ..conditions import FULL, Condition, Readings, Usual, is_unused
from ..facts import Facts
from ..finding import Finding
from ..machine_episodes import MachineEpisode
from ..names import GPU_MEMORY_FULL
from ..readings.episodes import Description, gpu_name, report

#: The share of a full GPU that others have to hold. TensorFlow takes nearly all memory for itself, which is normal.
HELD = 0.3


def share_lost(now: Readings, usual: Usual) -> float | None:
    """Return 0 while memory is full: the readings do not say how much slower that makes the steps."""
    total = now.get(GPU_MEMORY_TOTAL, 0.0)
    full = 0 < FULL * total <= now.get(GPU_MEMORY, 0.0)
    by_others = full and now.get(GPU_MEMORY_OTHERS, 0.0) >= HELD * total and not is_unused(now)
    return 0.0 if by_others or _pool_full(now) else None


def _pool_full(now: Readings) -> bool:
    """Return whether TensorFlow's pool is full at its peak: each step fills and frees it between two readings."""
    limit = now.get(TF_GPU_LIMIT, 0.0)
    return 0 < FULL * limit <= max(now.get(TF_GPU_MEMORY, 0.0), now.get(TF_GPU_PEAK, 0.0))


CAUSE = Cause(
    id=GPU_MEMORY_FULL,
    area=Area.MACHINE,
    headline="The GPU's memory is full",
    mechanism="When device memory is full, allocations wait or fail, and TensorFlow cannot use fast algorithms that "
    "need workspace.",
    advice="Use a smaller batch, or end the other process that holds GPU memory.",
    before="batch_size = 64",
    after="batch_size = 32",
    scenario=None,
    condition=Condition(
        GPU_MEMORY_FULL,
        (GPU_MEMORY, GPU_MEMORY_TOTAL, GPU_MEMORY_OTHERS, TF_GPU_MEMORY, TF_GPU_PEAK, TF_GPU_LIMIT),
        share_lost,
        per_gpu=True,
    ),
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    return report(facts, CAUSE, _describe)


def _describe(episode: MachineEpisode) -> Description:
    now, gpu = episode.during, gpu_name(episode)
    if _pool_full(now):
        used = max(now.get(TF_GPU_MEMORY, 0.0), now.get(TF_GPU_PEAK, 0.0))
        whose = f"TensorFlow's memory on {gpu}"
        text = f"{_gib(used)} of {_gib(now[TF_GPU_LIMIT])} GiB at the peak"
    else:
        whose = f"{gpu}'s memory"
        used, total, others = now[GPU_MEMORY], now[GPU_MEMORY_TOTAL], now[GPU_MEMORY_OTHERS]
        text = f"{_gib(used)} of {_gib(total)} GiB, {_gib(others)} GiB of it used by other processes"
    return Description(f"{whose} filled up ({text})", f"{whose} {{is}} full ({text})")


def _gib(count: float) -> str:
    """Format bytes in GiB, the unit GPUs are sold by."""
    return f"{count / 2**30:.1f}"


DETECTOR = Detector(detect, (CAUSE,))
