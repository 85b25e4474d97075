"""optimizer-recreated: an optimizer is created again and again."""

from __future__ import annotations

from collections.abc import Iterator

from ...agent.protocol.names import TALLY_OPTIMIZER, TALLY_VARIABLE
from ..cause import Area, Cause, Detector
from ..facts import Facts
from ..finding import Finding
from ..make import finding, ms
from ..names import MODEL_RECREATED, OPTIMIZER_RECREATED
from ..readings.creation import recreating_lines
from ..rewriting.hoist import hoist

CAUSE = Cause(
    id=OPTIMIZER_RECREATED,
    area=Area.RECREATED,
    headline="An optimizer is created again and again",
    mechanism="A new optimizer creates one or two slot variables per weight at its first step, and starts without the "
    "moments that the old one had collected.",
    advice="Create the optimizer once, before the loop.",
    before="for x in data:\n    opt = Adam()\n    opt.apply_gradients(...)",
    after="opt = Adam()\nfor x in data:\n    opt.apply_gradients(...)",
    scenario="optimizer_in_loop",
    explained_by=(MODEL_RECREATED,),
    change=hoist,
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    lines = recreating_lines(facts, TALLY_OPTIMIZER)
    if not lines:
        return
    worst = lines[0]
    cost = worst.seconds + sum(c.seconds for c in recreating_lines(facts, TALLY_VARIABLE))
    yield finding(
        facts,
        CAUSE,
        worst.site,
        f"{worst.symbol} is created again at this line, {worst.count} times in {facts.steps} steps; with its slot "
        f"variables that takes {ms(cost / worst.count)} each time.",
        cost,
        symbol=worst.symbol,
        since=worst.since,
        created=worst.count,
    )


DETECTOR = Detector(detect, (CAUSE,))
