"""What to say when nothing is wrong."""

from __future__ import annotations

from ..agent.protocol.names import PACKAGE_KERAS, PACKAGE_TENSORFLOW
from .busy import seen, sightings
from .facts import Facts, short
from .make import ms
from .readings.numpy_program import ALWAYS, is_numpy_program

#: Steps before anything can be said about them.
LEAST_STEPS = 3
#: Seconds of sightings before their shares are worth a number.
ENOUGH = 1.0
#: If TensorFlow takes less than this share, the line that takes most of the rest is named, provided it takes at least
#: `WORTH_NAMING`.
MOSTLY_TENSORFLOW = 0.5
WORTH_NAMING = 0.2
#: The same for the lines of a NumPy program, of which the first few are named.
NUMPY_WORTH_NAMING = 0.1
MOST_NAMED = 3


def healthy(facts: Facts) -> str:
    """Say in a sentence that nothing is wrong, and where the time goes."""
    step = facts.step
    if step is None or facts.steps < LEAST_STEPS:
        if facts.alone:
            return _numpy(facts)
        return "No step was seen: nothing that TensorFlow does repeated often enough."
    trend = step.trend.direction if step.trend else "unclear"
    pace = {"flat": "is steady at", "falling": "gets faster and takes"}.get(trend, "takes")
    seconds = list(sightings(facts))
    total = sum(c.seconds for c, _ in seconds)
    inside = sum(c.seconds for c, b in seconds if b.package in (PACKAGE_TENSORFLOW, PACKAGE_KERAS))
    share = f", {100 * inside / total:.0f} % inside TensorFlow" if total > ENOUGH else ""
    (file, line), most = next(iter(seen(facts, lambda b: b.python).items()), (("", 0), 0.0))
    if share and inside < MOSTLY_TENSORFLOW * total and most >= WORTH_NAMING * total:
        share += f" and {100 * most / total:.0f} % at {short(file)}:{line}"
    found = "slow found until then" if facts.failed else "wrong found"
    return f"Nothing {found}: the step {pace} {ms(step.median)}{share}."


def _numpy(facts: Facts) -> str:
    if not is_numpy_program(facts):
        return ""
    lines = [
        f"{short(file)}:{line} ({100 * facts.share(seconds):.0f} %)"
        for (file, line), seconds in list(seen(facts, lambda _: True, late=ALWAYS).items())[:MOST_NAMED]
        if facts.share(seconds) >= NUMPY_WORTH_NAMING
    ]
    where = f"; most of the time is spent at {', '.join(lines)}" if lines else ""
    return f"Nothing wrong found{where}."
