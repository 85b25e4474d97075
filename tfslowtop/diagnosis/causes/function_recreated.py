"""function-recreated: a tf.function, or the object it belongs to, is created again and again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ...agent.protocol.names import TALLY_COMPILE, TALLY_FUNCTION, TALLY_MODEL
from ..cause import Area, Cause, Detector
from ..facts import Facts, FunctionFacts, Site
from ..finding import Finding
from ..make import LEAST_SHARE, finding
from ..names import FUNCTION_RECREATED
from ..readings.creation import LARGE_SHARE_OF_ROUND, PER_STEP
from ..readings.traces import (
    LEAST_TRACES,
    has_new_instances,
    instance_seconds,
    is_recreated,
    package,
    retrace_cost,
)
from ..rewriting.hoist import hoisted
from ..rewriting.statement import Change, Function, Statement
from .retrace import EXPLAINED_BY

#: The share of the avoidable traces for which a line has to create the function to be the one that does.
MOST_CREATIONS = 0.5
#: Functions of a library that are named.
MOST_NAMED = 3


def _hoist_function(statement: Statement, found: Finding) -> Change | None:
    """Move the function out of the loop, also where the finding is at its call."""
    if statement.loop is not None and not isinstance(statement.node, Function):
        own = (n for n in statement.loop.body if isinstance(n, Function) and n.name == found.symbol)
        made = next(own, None)
        if made is not None:
            return hoisted(replace(statement, node=made))
    return hoisted(statement)


CAUSE = Cause(
    id=FUNCTION_RECREATED,
    area=Area.TRACING,
    headline="A tf.function is re-created, so every call traces again",
    mechanism="Traces belong to the function object. One that has just been created has none, so its first call traces "
    "the whole graph.",
    advice="Create the tf.function once, outside the loop.",
    before="for x in data:\n    f = tf.function(compute)\n    f(x)",
    after="f = tf.function(compute)\nfor x in data:\n    f(x)",
    curve="retraces",
    scenario="function_in_loop",
    explained_by=EXPLAINED_BY,
    change=_hoist_function,
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    by_library: dict[Site, list[FunctionFacts]] = {}
    for f in facts.functions:
        if not is_recreated(facts, f):
            continue
        if f.library:
            by_library.setdefault((f.user_file, f.user_line), []).append(f)
        elif has_new_instances(facts, f):
            yield _method(facts, f)
        else:
            yield _function(facts, f)
    for site, group in by_library.items():
        if site[0]:
            yield _of_library(facts, site, group)


def _function(facts: Facts, f: FunctionFacts) -> Finding | None:
    made = [
        c
        for c in facts.tallies_of(TALLY_FUNCTION)
        if c.symbol == f.function and c.count >= MOST_CREATIONS * f.avoidable
    ]
    site = made[0].site if made and made[0].file else f.call_site
    if not site[0]:
        return None
    cost, is_bound = retrace_cost(facts, f)
    return finding(
        facts,
        CAUSE,
        site,
        f"{f.function} is re-created for {f.avoidable} of {f.calls} calls, and each new one traces again: {cost:.1f} s.",
        cost,
        at_most=is_bound,
        symbol=f.function,
        since=f.since,
        **_evidence(f, f.count),
    )


def _method(facts: Facts, f: FunctionFacts) -> Finding | None:
    """Report a method of which each new object has traces of its own."""
    if not f.call_site[0]:
        return None
    cost = instance_seconds(f)
    return finding(
        facts,
        CAUSE,
        f.call_site,
        f"{f.function} is called on a new object in {f.instances} of {f.calls} calls, and traces again for each of "
        f"them: {cost:.1f} s.",
        cost,
        at_most=True,
        symbol=f.function,
        advice="Create the object once, outside the loop.",
        **_evidence(f, f.count),
    )


def _of_library(facts: Facts, site: Site, group: list[FunctionFacts]) -> Finding | None:
    """Report functions of a library by the line of the user's code that makes the library create them."""
    worst = max(group, key=lambda f: f.seconds)
    again = sum(max(f.instances, f.avoidable) for f in group)
    models = max(
        (c.count for c in facts.tallies_of(TALLY_MODEL, TALLY_COMPILE) if c.is_ongoing), default=facts.steps
    )
    if models < LEAST_TRACES:
        return None  # each of a few models has functions of its own
    cost = sum(f.seconds * max(f.instances, f.avoidable) / max(1, f.count) for f in group)
    names = ", ".join(sorted({f.function for f in group})[:MOST_NAMED])
    return finding(
        facts,
        CAUSE,
        site,
        f"This line uses a new {package(worst)} object each time, so that {again} of its functions were traced again "
        f"({names}): {cost:.1f} s.",
        cost,
        at_most=True,
        symbol=package(worst),
        since=worst.since,
        least=LEAST_SHARE if models >= PER_STEP * facts.steps else LARGE_SHARE_OF_ROUND,
        advice="Create the object that this line calls once, outside the loop, and reuse it.",
        **_evidence(worst, sum(f.count for f in group)),
    )


def _evidence(f: FunctionFacts, traces: int) -> dict[str, Any]:
    return {
        "traces": traces,
        "calls": f.calls,
        "function_file": f.file,
        "function_library": f.library,
        "function_line": f.line,
    }


DETECTOR = Detector(detect, (CAUSE,))
