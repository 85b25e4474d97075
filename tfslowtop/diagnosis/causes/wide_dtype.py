"""wide-dtype: double precision by accident makes twice the work."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...agent.code.source_lines import source_line, source_lines
from ...agent.protocol.names import (
    SETTING_FLOATX,
    TALLY_SETTING,
    TALLY_WIDE,
    TALLY_WIDE_ARRAY,
    TALLY_WIDE_VARIABLE,
    WIDE_ARGUMENT,
)
from ..cause import Area, Cause, Detector
from ..facts import Facts, Site, StreamFacts, TallyFacts, short
from ..finding import Finding
from ..make import LARGE_SHARE, finding
from ..names import DISPATCH_BOUND, RETRACES, WIDE_DTYPE
from ..readings.graphs import calls_with

#: Single precision takes half the memory and half the vector instructions.
HALF = 0.5
#: Seconds per call below which the price of a call hides what it computes.
SHORT_CALL = 1e-3
#: A program that says so means it.
_ON_PURPOSE = re.compile(r"float64|complex128|\bdouble\b")

CAUSE = Cause(
    id=WIDE_DTYPE,
    area=Area.STEP,
    headline="Double precision by accident makes twice the work",
    mechanism="NumPy makes float64 unless told otherwise, a tensor made of it is float64, too, and so is all that is "
    "computed from it: twice the bytes, and half as many numbers per instruction.",
    advice="Convert to float32 where the data are made: x.astype(np.float32), or dtype=tf.float32.",
    before="x = rng.normal(size=(n, d))",
    after="x = rng.normal(size=(n, d)).astype(np.float32)",
    scenario="float64_by_accident",
    explained_by=(*RETRACES, DISPATCH_BOUND),
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    """Functions that compute in double precision although no line asks for it."""
    entries = facts.tallies_of(TALLY_WIDE)
    found = {c.id: c for entry in entries for c in calls_with(facts, entry) if c.median >= SHORT_CALL}
    calls = sorted(found.values(), key=lambda c: -c.seconds)
    entered = _entered(facts, entries)
    if not calls or entered is None or _is_on_purpose(facts, entered, entries):
        return
    yield _report(facts, calls, entered, entries)


def _report(
    facts: Facts, calls: list[StreamFacts], entered: Site, entries: list[TallyFacts]
) -> Finding | None:
    seconds = min(sum(c.seconds for c in calls), facts.seconds)
    used = next((c.site for c in entries if c.site != entered and c.is_users), None)
    also = f"; it is used at {short(used[0])}:{used[1]}" if used else ""
    return finding(
        facts,
        CAUSE,
        entered,
        f"{calls[0].name} computes in double precision, {100 * facts.share(seconds):.0f} % of the time; it enters "
        f"here{also}.",
        HALF * seconds,
        confidence="medium",
        at_most=True,
        symbol="float64",
        least=LARGE_SHARE,
    )


def _entered(facts: Facts, entries: list[TallyFacts]) -> Site | None:
    """Return the line at which double precision enters: where the most of it is made, if that is known."""
    setting = [c for c in facts.tallies_of(TALLY_SETTING) if c.symbol == SETTING_FLOATX and c.size >= 64]
    made = facts.tallies_of(TALLY_WIDE_VARIABLE) or [
        c
        for c in facts.tallies_of(TALLY_WIDE_ARRAY)
        if not any(e.symbol.startswith(WIDE_ARGUMENT) for e in entries)
    ]
    for group in (setting, made, entries):
        lines = [c for c in group if c.is_users]
        if lines:
            return max(lines, key=lambda c: c.size).site
    return None


def _is_on_purpose(facts: Facts, entered: Site, entries: list[TallyFacts]) -> bool:
    """Whether a file that is concerned speaks of double precision; the switch of Keras is named all the same."""
    if SETTING_FLOATX in source_line(*entered):
        return False
    files = {entered[0], *(c.file for c in entries if c.is_users)}
    return any(_ON_PURPOSE.search(line) for file in files for line in source_lines(file))


DETECTOR = Detector(detect, (CAUSE,))
