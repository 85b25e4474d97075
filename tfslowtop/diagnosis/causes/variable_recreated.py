"""variable-recreated: a tf.Variable is created again and again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...agent.protocol.names import TALLY_VARIABLE
from ..cause import Area, Cause, Detector
from ..facts import Facts, keras_lines
from ..finding import Finding
from ..make import finding, ms, per_step
from ..names import FUNCTION_RECREATED, MODEL_RECREATED, OPTIMIZER_RECREATED, VARIABLE_RECREATED
from ..readings.creation import recreating_lines
from ..rewriting.hoist import hoisted
from ..rewriting.statement import Change, Statement

#: Steps and seconds from which on the first step, in which an optimizer creates its slots, is only a part.
LEAST_STEPS = 8
LEAST_STEP_SECONDS = 3.0
#: The share of the time at the line that counts: the line does more than create the variable.
CREATING = 0.8


def _assign(statement: Statement, found: Finding) -> Change | None:
    """Create the variable before the loop, and assign to it where it was created."""
    node, again = statement.node, ""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and node.value.args:
        name, value = statement.source(node.targets[0]), statement.source(node.value.args[0])
        again = f"{name}.assign({value})"
    return hoisted(statement, again)


CAUSE = Cause(
    id=VARIABLE_RECREATED,
    area=Area.RECREATED,
    headline="A tf.Variable is created again and again",
    mechanism="A variable is a resource: creating one allocates, initialises and registers it.",
    advice="Create the variable once, before the loop, and assign to it.",
    before="for x in data:\n    v = tf.Variable(x)",
    after="v = tf.Variable(tf.zeros(shape))\nfor x in data:\n    v.assign(x)",
    scenario="assign_cache",
    explained_by=(MODEL_RECREATED, OPTIMIZER_RECREATED, FUNCTION_RECREATED),
    change=_assign,
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    if facts.step is None or facts.steps < LEAST_STEPS or facts.step.seconds < LEAST_STEP_SECONDS:
        return
    keras = keras_lines(facts)
    lines = [c for c in recreating_lines(facts, TALLY_VARIABLE) if c.site not in keras]
    if not lines:
        return
    worst = lines[0]
    at_line = facts.seconds_at(worst.site)
    cost = max(worst.seconds, at_line)
    yield finding(
        facts,
        CAUSE,
        worst.site,
        f"tf.Variable is created again at this line: {per_step(worst.count, facts.steps)} per step, "
        f"{worst.count:,} in all, {ms(cost / worst.count)} each.",
        cost,
        weight=CREATING if at_line > worst.seconds else 1.0,
        symbol="tf.Variable",
        since=worst.since,
        created=worst.count,
    )


DETECTOR = Detector(detect, (CAUSE,))
