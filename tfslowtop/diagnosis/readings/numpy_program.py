"""Programs without TensorFlow. They have no hooks and so no steps; only sightings of the main thread."""

from __future__ import annotations

from ..facts import Facts

#: Seconds of sightings, ten a second, below which they are too few to judge by.
ENOUGH = 5.0
#: The share of a growth that has to come in the second half of the time: what was collected at the start, to be worked
#: on, does not grow any more.
STILL_GROWS = 0.3
#: For `busy.seen`: sightings at any time, since a program without steps has no second half of them.
ALWAYS = -1.0


def is_numpy_program(facts: Facts) -> bool:
    """Return whether this is a program without TensorFlow that has been watched for long enough."""
    return facts.alone and facts.step is None and facts.seconds >= ENOUGH
