"""gpu-contention: another process computes on the same GPU."""

from __future__ import annotations

from collections.abc import Iterator

from ...agent.protocol.names import GPU_UTILISATION, GPU_UTILISATION_OTHERS
from ..cause import Area, Cause, Detector
from ..conditions import Condition, Readings, Usual, is_unused
from ..facts import Facts
from ..finding import Finding
from ..machine_episodes import MachineEpisode
from ..names import GPU_CONTENTION
from ..readings.episodes import Description, gpu_name, report
from .gpu_throttled import BUSY

#: Percent of the GPU's time that others use. A desktop and its browser stay below.
OTHERS = 20.0


def share_lost(now: Readings, usual: Usual) -> float | None:
    """Return the share of the time that others had the GPU while it was busy."""
    others, busy = now.get(GPU_UTILISATION_OTHERS, 0.0), now.get(GPU_UTILISATION, 0.0)
    if others < OTHERS or busy < BUSY or is_unused(now):
        return None
    return others / 100 * busy / 100


CAUSE = Cause(
    id=GPU_CONTENTION,
    area=Area.MACHINE,
    headline="Another process computes on the same GPU",
    mechanism="Processes that share a GPU take turns on it: while one computes, the other waits.",
    advice="Choose another GPU, or wait for the other process to end.",
    before="python train.py",
    after="CUDA_VISIBLE_DEVICES=1 python train.py",
    scenario=None,
    condition=Condition(GPU_CONTENTION, (GPU_UTILISATION_OTHERS, GPU_UTILISATION), share_lost, per_gpu=True),
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    return report(facts, CAUSE, _describe)


def _describe(episode: MachineEpisode) -> Description:
    now, before = (each.get(GPU_UTILISATION_OTHERS, 0.0) for each in (episode.during, episode.before))
    gpu = gpu_name(episode)
    return Description(
        f"other processes went from {before:.0f} to {now:.0f} % of {gpu}'s time",
        f"other processes {{use}} {gpu} {now:.0f} % of the time",
    )


DETECTOR = Detector(detect, (CAUSE,))
