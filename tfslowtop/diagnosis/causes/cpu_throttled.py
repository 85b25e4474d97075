"""cpu-throttled: a container runs into its CPU limit."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...agent.protocol.names import (
    GAUGE_CGROUP_QUOTA,
    GAUGE_CGROUP_THROTTLED,
    GAUGE_CGROUP_WAITED,
    GAUGE_CHILDREN_CPU,
    GAUGE_CPU,
)
from ..cause import Area, Cause, Detector
from ..conditions import Condition, Readings, Usual
from ..facts import Facts
from ..finding import Finding
from ..machine_episodes import MachineEpisode
from ..names import CPU_THROTTLED
from ..readings.episodes import Description, report

#: Percent of the scheduling periods in which the quota ran out, and seconds lost per second. A quota is there to
#: absorb a burst now and then.
THROTTLED = 25.0
LOST = 0.1


def share_lost(now: Readings, usual: Usual) -> float | None:
    """Return the share of the CPU time that the threads wanted and did not get."""
    lost = now.get(GAUGE_CGROUP_WAITED, 0.0)
    if now.get(GAUGE_CGROUP_THROTTLED, 0.0) < THROTTLED or lost < LOST:
        return None
    used = (now.get(GAUGE_CPU, 0.0) + now.get(GAUGE_CHILDREN_CPU, 0.0)) / 100
    return lost / (lost + used)


CAUSE = Cause(
    id=CPU_THROTTLED,
    area=Area.MACHINE,
    headline="The container's CPU limit stops the program again and again",
    mechanism="A container has a quota of CPU time for every 100 ms. When the quota is used up, all of its threads stop "
    "until the next period begins.",
    advice="Raise the container's CPU limit, or limit TensorFlow to as many threads as the limit allows.",
    after="tf.config.threading.set_intra_op_parallelism_threads(n)",
    scenario=None,
    condition=Condition(
        CPU_THROTTLED, (GAUGE_CGROUP_THROTTLED, GAUGE_CGROUP_WAITED, GAUGE_CGROUP_QUOTA), share_lost
    ),
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    return report(facts, CAUSE, _describe)


def _describe(episode: MachineEpisode) -> Description:
    quota = episode.during.get(GAUGE_CGROUP_QUOTA, math.nan)
    limit = f"its limit of {quota:g} core{'' if quota == 1 else 's'}"
    periods = f"in {episode.during[GAUGE_CGROUP_THROTTLED]:.0f} % of the scheduling periods"
    return Description(
        f"the container began to hit {limit} {periods}", f"the container {{hits}} {limit} {periods}"
    )


DETECTOR = Detector(detect, (CAUSE,))
