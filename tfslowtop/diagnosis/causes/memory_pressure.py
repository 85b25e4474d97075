"""memory-pressure: the machine or the container runs out of memory."""

from __future__ import annotations

from collections.abc import Iterator

from ...agent.protocol.names import (
    GAUGE_CGROUP_LIMIT_HITS,
    GAUGE_CGROUP_MEMORY,
    GAUGE_CGROUP_MEMORY_LIMIT,
    GAUGE_CGROUP_REFAULTS,
    GAUGE_CGROUP_WORKING_MEMORY,
    GAUGE_MAJOR_FAULTS,
    GAUGE_PRESSURE_MEMORY,
    GAUGE_SWAP,
)
from ..cause import Area, Cause, Detector
from ..conditions import FULL, Condition, Readings, Usual
from ..facts import Facts
from ..finding import Finding
from ..machine_episodes import MachineEpisode
from ..make import size
from ..names import MEMORY_PRESSURE
from ..readings.episodes import Description, report

#: Page faults per second that had to wait for a disk. A program that loads its libraries has as many for a moment and
#: none afterwards.
MAJOR = 50.0
#: Seconds that an SSD takes to read a page: the least that such a fault costs.
DISK = 1e-4
#: Bytes in swap. The kernel swaps out some unused pages even when there is memory to spare.
SWAPPED = 50e6
#: Percent of the time in which some task waited for memory. Recycling the page cache causes a few percent.
PRESSURE = 20.0
#: Allocations per second that met the memory limit: more than one means that the program keeps asking.
HITS = 1
#: Percent of waiting below which it is not worth mentioning.
MENTIONED = 1


def share_lost(now: Readings, usual: Usual) -> float | None:
    """Return the share of the time spent waiting for memory or for pages from disk."""
    pressure, major = now.get(GAUGE_PRESSURE_MEMORY, 0.0), now.get(GAUGE_MAJOR_FAULTS, 0.0)
    swapping = major >= MAJOR and now.get(GAUGE_SWAP, 0.0) >= SWAPPED
    limit = now.get(GAUGE_CGROUP_MEMORY_LIMIT, 0.0)
    full = 0 < FULL * limit <= now.get(GAUGE_CGROUP_MEMORY, 0.0)
    # Reading a data set through the page cache also fills a limit, without harm. A full limit counts only when tasks
    # wait for memory, when evicted pages are needed again, or when nothing is left to evict and more is wanted.
    again = major >= MAJOR and now.get(GAUGE_CGROUP_REFAULTS, 0.0) >= MAJOR
    more = (
        now.get(GAUGE_CGROUP_LIMIT_HITS, 0.0) > HITS
        and now.get(GAUGE_CGROUP_WORKING_MEMORY, 0.0) >= FULL * limit
    )
    if not (swapping or (full and (pressure >= PRESSURE or again or more))):
        return None
    return min(1.0, max(pressure / 100, DISK * major))


CAUSE = Cause(
    id=MEMORY_PRESSURE,
    area=Area.MACHINE,
    headline="The machine or the container runs out of memory",
    mechanism="When memory is full, pages are written to disk and read back later, or allocations wait until other "
    "memory is freed.",
    advice="Give the program more memory, or use smaller batches, caches and shuffle buffers.",
    before="ds = ds.shuffle(1_000_000)",
    after="ds = ds.shuffle(1_000)",
    scenario=None,
    condition=Condition(
        MEMORY_PRESSURE,
        (
            GAUGE_SWAP,
            GAUGE_MAJOR_FAULTS,
            GAUGE_PRESSURE_MEMORY,
            GAUGE_CGROUP_MEMORY,
            GAUGE_CGROUP_MEMORY_LIMIT,
            GAUGE_CGROUP_LIMIT_HITS,
        ),
        share_lost,
    ),
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    return report(facts, CAUSE, _describe)


def _describe(episode: MachineEpisode) -> Description:
    now = episode.during
    limit, major = now.get(GAUGE_CGROUP_MEMORY_LIMIT, 0.0), now.get(GAUGE_MAJOR_FAULTS, 0.0)
    used, swap, stalls = (
        now.get(name, 0.0) for name in (GAUGE_CGROUP_MEMORY, GAUGE_SWAP, GAUGE_PRESSURE_MEMORY)
    )
    parts = [f"{size(used)} of the {size(limit)} limit in use"] if used >= FULL * limit > 0 else []
    parts += [f"{size(swap)} swapped out"] if swap >= SWAPPED else []
    parts += [f"{major:,.0f} pages per second read back from disk"] if major >= MAJOR else []
    parts += [f"tasks waiting for memory {stalls:.0f} % of the time"] if stalls >= MENTIONED else []
    return Description(f"memory ran short ({', '.join(parts)})", f"memory {{is}} short ({', '.join(parts)})")


DETECTOR = Detector(detect, (CAUSE,))
