"""gc-pause: the garbage collector takes a visible share of the time."""

from __future__ import annotations

from collections.abc import Iterator

from ...agent.protocol.names import (
    ACTIVITY_GC,
    GAUGE_GC_COLLECTIONS,
    GAUGE_GC_SECONDS,
    STREAM_GC,
    TALLY_GC_PAUSE,
)
from ..cause import Area, Cause, Detector
from ..facts import Facts
from ..finding import Finding
from ..make import finding
from ..names import GC_PAUSE, LEAKS, PREDICT_LOOP, RECREATED
from ..rewriting.statement import Change, Statement, called_name, indented

#: The share of the time. An ordinary program spends one to three percent, one that builds several models a tenth.
PAUSES = 0.15
#: Pauses and steps before they are more than a start: importing and building cause some.
LEAST_PAUSES = 10
LEAST_STEPS = 5
#: The share of the pauses at one line from which on this line asks for them; else they come wherever the program is.
ASKED = 0.6


def _collect_once(statement: Statement, found: Finding) -> Change | None:
    """Collect once before the loop, and freeze what is left."""
    loop = statement.loop
    if loop is None or not any(called_name(c) == "collect" for c in statement.calls()):
        return None
    header, text = statement.header(loop), statement.edited()
    return Change(f"{header}\n    ...\n{indented(text)}", f"{text}\ngc.freeze()\n{header}\n    ...")


CAUSE = Cause(
    id=GC_PAUSE,
    area=Area.MEMORY,
    headline="The garbage collector interrupts the step",
    mechanism="A full collection goes through every object of the program, including the roughly 270,000 objects of "
    "TensorFlow itself.",
    advice="Remove gc.collect() from the loop; gc.freeze() after building the program exempts old objects from "
    "collection.",
    before="for x in data:\n    gc.collect()",
    after="gc.collect()\ngc.freeze()\nfor x in data:\n    ...",
    scenario="gc_pauses",
    explained_by=(*LEAKS, *RECREATED, PREDICT_LOOP),
    change=_collect_once,
    owns=ACTIVITY_GC,
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    collections, streams = facts.gauges.get(GAUGE_GC_COLLECTIONS), facts.streams_of(STREAM_GC)
    if GAUGE_GC_SECONDS not in facts.gauges or not streams or facts.steps < LEAST_STEPS:
        return
    pauses = streams[0]
    if pauses.calls < LEAST_PAUSES:
        return
    line = max(facts.tallies_of(TALLY_GC_PAUSE), key=lambda c: c.seconds * c.late, default=None)
    if line is not None and (line.seconds < ASKED * pauses.seconds or not line.file):
        line = None
    if line is not None:
        site = line.site
        advice = f"Take {line.symbol} out of the loop: it collects garbage each time." if line.symbol else ""
    else:
        site = facts.step.site if facts.step else ("", 0)
        advice = "Call gc.freeze() after building the program, or raise gc.set_threshold(50_000, 20, 20)."
    yield finding(
        facts,
        CAUSE,
        site,
        f"The garbage collector takes {pauses.seconds:.1f} s, {100 * facts.share(pauses.seconds):.0f} % of the time, in "
        f"{pauses.calls:,} pauses of {1e3 * pauses.seconds / pauses.calls:.0f} ms on average.",
        pauses.seconds,
        symbol="gc",
        least=PAUSES,
        advice=advice,
        collections=collections.last if collections else None,
    )


DETECTOR = Detector(detect, (CAUSE,))
