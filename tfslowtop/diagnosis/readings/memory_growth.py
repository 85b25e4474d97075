"""How much memory grows with the steps."""

from __future__ import annotations

from ...agent.protocol.names import GAUGE_RSS
from ..facts import Facts

#: Bytes of growth in all, and per step, that caches and the allocator's arenas do not explain.
LEAK = 24e6
LEAK_PER_STEP = 2_000.0
#: A slow leak has to be this share of all memory: a program that soon ends need not care about less.
SLOW_LEAK = 0.1


def bytes_per_step(facts: Facts) -> float:
    """Return the growth per step, or 0 unless memory clearly rises."""
    rss = facts.gauges.get(GAUGE_RSS)
    trend = rss.trend if rss is not None else None
    if trend is None or trend.direction != "rising" or trend.low <= LEAK_PER_STEP:
        return 0.0
    return trend.slope


def grown_bytes(facts: Facts) -> float:
    """Return the bytes by which memory has grown with the steps."""
    rss = facts.gauges.get(GAUGE_RSS)
    return max(rss.rise, bytes_per_step(facts) * facts.steps) if rss is not None else 0.0


def leaked_share(facts: Facts, per_step: float) -> float:
    """Return the share of the memory that has leaked."""
    return min(1.0, per_step * facts.steps / max(facts.gauges[GAUGE_RSS].last, 1.0))
