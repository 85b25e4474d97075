"""Lines that create objects again and again while the steps go by."""

from __future__ import annotations

from ...agent.protocol.names import TALLY_SAVE, TallyKind
from ..facts import Facts, TallyFacts

#: Creations per step and in all. Three models of a grid search, or an iterator per epoch, are as they should be.
PER_STEP = 0.3
LEAST = 6
#: Objects created less often, once per round of a loop around the steps, are reported if they take a large share of
#: the time: a model per fold or a dataset per epoch is fine as long as much is done with it.
PER_ROUND = 0.02
LARGE_SHARE_OF_ROUND = 0.4


def recreating_lines(facts: Facts, *what: TallyKind, per_step: float = PER_STEP) -> list[TallyFacts]:
    """Return the lines that keep creating such objects, most expensive first."""
    least = max(LEAST, per_step * facts.steps)
    saving = {c.site for c in facts.tallies_of(TALLY_SAVE)}  # Keras creates objects there to compare with
    lines = [
        c
        for c in facts.tallies_of(*what)
        if c.count >= least and c.is_ongoing and c.file and c.site not in saving
    ]
    return sorted(lines, key=lambda c: -c.seconds)
