"""Weights of a model that are copied to the host and back at each step, by get_weights and set_weights."""

from __future__ import annotations

from ...agent.protocol.names import TALLY_HOST_COPY, TALLY_HOST_SYNC, TALLY_WHERE
from ..busy import busy
from ..facts import Facts, TallyFacts

#: Bytes per step from which on a copy is worth reporting: copying a megabyte takes some tenths of a millisecond.
LARGE = 1 << 20


def weight_copies(facts: Facts) -> tuple[list[TallyFacts], float]:
    """Return the sightings at lines that copy weights, and the bytes per step; nothing if those are few."""
    seen = [
        c
        for c in facts.tallies_of(TALLY_WHERE)
        if c.is_ongoing and c.is_users and busy(c).callee in ("get_weights", "set_weights")
    ]
    lines = {c.site for c in seen}
    copies = (c for c in facts.tallies_of(TALLY_HOST_SYNC, TALLY_HOST_COPY) if c.site in lines)
    per_step = sum(c.size for c in copies) / max(1, facts.steps)
    return (seen, per_step) if per_step >= LARGE else ([], 0.0)
