"""growing-input: something that grows at each step is processed again as a whole."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from ...agent.protocol.names import (
    PACKAGE_TRACING,
    STREAM_FIT,
    STREAM_FIT_CALL,
    TALLY_GROWN_ARRAY,
    TALLY_WHERE,
)
from ..busy import busy, sightings
from ..cause import Area, Cause, Detector
from ..facts import Facts, Site, StreamFacts
from ..finding import Finding
from ..make import finding, ms, size
from ..names import GRAPHS, GROWING_INPUT, KERNEL_LEAK, RECREATED, RETRACES
from ..readings.eager_ops import busiest_line
from ..readings.numpy_program import STILL_GROWS, is_numpy_program

#: Steps before a rise can be told from noise.
LEAST_STEPS = 30
#: The share of the time above the early steps: less may be a disturbed machine.
LEAST_SHARE = 0.15
#: Steps from which on CPU time alone is reliable enough.
MANY_STEPS = 300
#: How far CPU time has to rise to confirm a rise of wall time, and how far by itself.
RISES = 1.15
CLIMBS = 1.5
#: Parts of the run for which CPU time has to be known.
LEAST_PARTS = 4
#: The share of the growth that has to be the program's own Python: a busy neighbour makes everything else grow.
OWN_PYTHON = 0.3
#: The share of the growth at the line that uses it which has to be at the line that joins the pieces.
JOINING = 0.1
#: The share of the time that a NumPy program spends joining arrays. Doing so now and then takes some percent.
NUMPY_JOINING = 0.25

CAUSE = Cause(
    id=GROWING_INPUT,
    area=Area.STEP,
    headline="A tensor or array that grows at each step is processed again",
    mechanism="Whatever grows by one piece per step is copied and processed as a whole at every step, so that the work of "
    "a step grows with the number of steps before it.",
    advice="Keep a running result, or write into a buffer of fixed size, instead of processing the whole history.",
    before="seen = tf.concat([seen, x], 0)\nmean = tf.reduce_mean(seen, 0)",
    after="total += tf.reduce_sum(x, 0)\ncount += len(x)\nmean = total / count",
    scenario="concat_history",
    explained_by=(*GRAPHS, *RETRACES, *RECREATED, KERNEL_LEAK),
)
#: The same in a program without TensorFlow.
WITH_NUMPY = replace(
    CAUSE,
    mechanism="An array cannot grow in place: all of it is copied to a new one each time, so that the work of an "
    "iteration grows with the number of iterations before it.",
    advice="Collect the pieces in a list and join them once, after the loop; or create the array in its final size and "
    "write into it.",
    before="seen = np.concatenate([seen, x])",
    after="pieces.append(x)\n# after the loop\nseen = np.concatenate(pieces)",
    scenario="append_history",
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    if facts.step is not None:
        yield _step(facts, facts.step)
    if is_numpy_program(facts):
        yield _numpy(facts)


def _step(facts: Facts, step: StreamFacts) -> Finding | None:
    """Report a step that gets slower, in CPU time too."""
    # A step that rises in stages works on larger pictures from some point on, say.
    if step.trend is None or facts.steps < LEAST_STEPS or step.staged or _has_several_fits(facts, step):
        return None
    direction = step.trend.direction
    if direction == "rising" and not _is_cpu_steady(
        facts
    ):  # else other processes take more and more of the machine
        first, now = step.trend.ends(step.calls)
        excess = step.excess
    elif direction == "unclear" and _does_cpu_climb(facts):
        # The machine disturbs the wall time too much, but the CPU time of the process is known.
        paces = facts.cpu_paces
        first, now = paces[0], paces[-1]
        excess = min(step.seconds, sum(max(0.0, p - first) for p in paces) / len(paces) * step.calls)
    else:
        return None
    return finding(
        facts,
        CAUSE,
        _growing_line(facts, step, own_python=direction == "unclear"),
        f"Steps went from {ms(first)} to {ms(now)} over {step.calls:,} steps, because this line keeps getting slower.",
        excess,
        symbol=step.name,
        confidence="medium",
        least=LEAST_SHARE,
        percent_per_100=step.trend.percent,
    )


def _has_several_fits(facts: Facts, step: StreamFacts) -> bool:
    """Return whether the steps belong to several calls of fit, perhaps of models of different size."""
    fits = sum(c.calls for c in facts.streams_of(STREAM_FIT_CALL))  # a call is known only when it is over
    return step.kind == STREAM_FIT and (fits > 1 or (fits == 1 and not facts.ended))


def _is_cpu_steady(facts: Facts) -> bool:
    """Return whether CPU time per step is known and does not rise."""
    paces = facts.cpu_paces
    return len(paces) > LEAST_PARTS and sum(paces[-2:]) < RISES * sum(paces[1:3])


def _does_cpu_climb(facts: Facts) -> bool:
    """Return whether CPU time per step keeps rising, to a good part in the program's own Python.

    With larger pictures from some step on TensorFlow computes more, but nothing grows by itself.
    """
    paces = facts.cpu_paces
    if not paces or facts.steps < MANY_STEPS or paces[0] <= 0 or paces[-1] < CLIMBS * paces[0]:
        return False
    rises = sum(after > before for before, after in itertools.pairwise(paces))
    growth = [(c.growth, b.python) for c, b in sightings(facts) if c.growth > 0]
    own = sum(g for g, python in growth if python)
    return rises >= len(paces) - 2 and own >= OWN_PYTHON * sum(g for g, _ in growth)


def _growing_line(facts: Facts, step: StreamFacts, own_python: bool) -> Site:
    """Return the line whose time grows most, or the line that joins the pieces if that grows, too."""
    growth: dict[Site, float] = {}
    for c in facts.tallies_of(TALLY_WHERE):
        if c.file and c.package != PACKAGE_TRACING and (busy(c).python or not own_python):
            growth[c.site] = growth.get(c.site, 0.0) + c.growth
    most = max(growth, key=lambda site: growth[site], default=step.site)
    joins = busiest_line(facts, "ConcatV2", "Pack")
    if joins is not None and growth.get(joins.site, 0.0) >= JOINING * growth.get(most, 0.0):
        return joins.site
    return most


def _numpy(facts: Facts) -> Finding | None:
    """Report an array that is joined with new pieces to a longer one of the same name."""
    grown = {_last_name(c.symbol): c for c in facts.tallies_of(TALLY_GROWN_ARRAY) if c.late >= STILL_GROWS}
    joins = [c for c in facts.tallies_of(TALLY_WHERE) if c.array]
    lines = [(c, grown[name]) for c in joins if (name := _last_name(c.array)) in grown and c.file]
    if not lines:
        return None
    line, array = max(lines, key=lambda pair: pair[0].seconds)
    seconds = sum(c.seconds for c, _ in lines if c.site == line.site)
    return finding(
        facts,
        WITH_NUMPY,
        line.site,
        f"This line copies all of {array.symbol} to a longer array, again and again: {seconds:.1f} s, "
        f"{100 * facts.share(seconds):.0f} % of the time. The array has gained {array.count:,} rows and takes "
        f"{size(array.size)}.",
        seconds,
        symbol=array.symbol,
        least=NUMPY_JOINING,
        rows=array.count,
        bytes=array.size,
    )


def _last_name(name: str) -> str:
    """Return `rows` for `self.rows`."""
    return name.rpartition(".")[2]


DETECTOR = Detector(detect, (CAUSE,))
