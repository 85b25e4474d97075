"""dataset-recreated: a dataset, or an iterator over it, is created again and again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...agent.protocol.names import STREAM_DATA_WAIT, TALLY_DATASET, TALLY_ITERATOR
from ..cause import Area, Cause, Detector
from ..facts import Facts, Site, TallyFacts, keras_lines
from ..finding import Finding
from ..make import finding, ms
from ..names import DATASET_RECREATED, MODEL_RECREATED, PREDICT_LOOP
from ..readings.creation import LEAST, PER_ROUND, PER_STEP, recreating_lines
from ..rewriting.hoist import hoisted
from ..rewriting.statement import Change, Statement, called_name, indented

#: The share of the time, which is more than usual: the cost contains waiting that a kept iterator would have too.
LEAST_SHARE = 0.15
#: Lines between an iterator and the wait for its elements in the same loop.
NEAR = 2
#: Datasets that cut a pass out of another one and build nothing.
_CUTS = ("_TakeDataset", "_SkipDataset", "_RepeatDataset")


def _iterate_once(statement: Statement, found: Finding) -> Change | None:
    """Turn `next(iter(ds))` into one iterator that goes on, or move the dataset out of the loop."""
    for call in statement.calls():
        inner = call.args[0] if called_name(call) == "next" and call.args else None
        if not isinstance(inner, ast.Call) or called_name(inner) != "iter" or not inner.args:
            continue
        if statement.loop is not None:
            header = statement.header(statement.loop)
            made = f"batches = iter({statement.source(inner.args[0])}.repeat())"
            after = indented(statement.edited((inner, "batches")))
            return Change(f"{header}\n{indented(statement.edited())}", f"{made}\n{header}\n{after}")
    return hoisted(statement)


CAUSE = Cause(
    id=DATASET_RECREATED,
    area=Area.RECREATED,
    headline="A dataset or its iterator is created again and again",
    mechanism="Each iterator starts the pipeline from scratch: it fills its shuffle and prefetch buffers again, and a new "
    "dataset also traces its functions again.",
    advice="Create the dataset and its iterator once, before the loop; .repeat() makes it endless.",
    before="for step in range(steps):\n    batch = next(iter(dataset))",
    after="batches = iter(dataset.repeat())\nfor step in range(steps):\n    batch = next(batches)",
    scenario="prefetch",
    explained_by=(MODEL_RECREATED, PREDICT_LOOP),
    change=_iterate_once,
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    if facts.steps < LEAST:
        return  # a loop may create datasets for training, validation and testing
    keras = keras_lines(facts)
    rare = not recreating_lines(facts, TALLY_DATASET, TALLY_ITERATOR)
    rate = PER_ROUND if rare else PER_STEP
    built = [
        c
        for c in recreating_lines(facts, TALLY_DATASET, per_step=rate)
        if c.site not in keras and not (rare and c.symbol in _CUTS)
    ]
    started = [c for c in recreating_lines(facts, TALLY_ITERATOR, per_step=rate) if c.site not in keras]
    if not built and (rare or not started):
        return
    cost = _building(facts, built) + sum(c.seconds for c in started) + _tracing(facts)
    if not rare:  # in a long round only a part of the waiting is for the first element
        cost += _waiting(facts, started)
    worst = min(built, key=lambda c: c.line) if built else started[0]
    what = "The dataset is built" if built else "An iterator over the dataset is created"
    count = max(c.count for c in started or built)
    yield finding(
        facts,
        CAUSE,
        worst.site,
        f"{what} again at this line, {count} times in {facts.steps} steps; each time the buffers start empty, and the "
        f"first element takes {ms(cost / count)}.",
        cost,
        at_most=True,
        symbol=worst.symbol.strip("_"),
        since=worst.since,
        created=count,
        least=LEAST_SHARE,
    )


def _building(facts: Facts, built: list[TallyFacts]) -> float:
    at_lines = sum(_seconds_at(facts, site) for site in {c.site for c in built})
    return max(sum(c.seconds for c in built), at_lines)


def _seconds_at(facts: Facts, site: Site) -> float:
    """Return the seconds at a line without the waiting for elements in a loop that begins there."""
    waited = sum(c.seconds for c in facts.streams_of(STREAM_DATA_WAIT) if c.site == site)
    return max(0.0, facts.seconds_at(site) - waited)


def _tracing(facts: Facts) -> float:
    return sum(f.seconds for f in facts.functions if f.function.startswith("Dataset_") and f.count >= LEAST)


def _waiting(facts: Facts, started: list[TallyFacts]) -> float:
    return sum(
        wait.seconds
        for wait in facts.streams_of(STREAM_DATA_WAIT)
        if any(wait.file == i.file and abs(wait.line - i.line) <= NEAR for i in started)
    )


DETECTOR = Detector(detect, (CAUSE,))
