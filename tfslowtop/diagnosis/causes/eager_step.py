"""eager-step: the step consists of many small eager ops."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from dataclasses import replace

from ...agent.protocol.names import (
    GAUGE_EAGER_OPS,
    PACKAGE_TENSORFLOW,
    STREAM_FIT,
    TALLY_EAGER_OP,
    TALLY_EAGER_OP_LOOP,
    TALLY_WHERE,
)
from ..cause import Area, Cause, Detector
from ..facts import Facts, Site, StreamFacts, short
from ..finding import Finding
from ..make import LARGE_SHARE, finding, ms
from ..names import (
    CALLBACK_HEAVY,
    EAGER_STEP,
    GRAPHS,
    GROWING_INPUT,
    HOST_COPY,
    INPUT_BOUND,
    PER_SAMPLE,
    PREDICT_LOOP,
    PYTHON_OP,
    RECREATED,
    RETRACES,
    TRACE_SLOW,
    VARIABLE_RECREATED,
)
from ..readings.eager_ops import (
    busiest_line,
    compiled_seconds,
    eager_switch,
    functions_run_eagerly,
    ops_per_step,
    outer_loop,
)
from ..readings.weight_copies import weight_copies
from ..rewriting.graph_body import can_be_graph, passes_counter
from ..rewriting.statement import Change, Statement, called_name

#: Eager ops per step from which on their dispatch is worth a graph; a small regression written by hand has 20 to 30.
EAGER_OPS = 60
#: Seconds per op. One that takes longer is computing, not being dispatched (10 to 60 µs), and a graph gains little.
DISPATCH = 400e-6
#: The share of the step that eager ops have to take, and steps for a rate to settle.
MOST_OF_STEP = 0.5
LEAST_STEPS = 10
#: The share of that time above which copied weights, which are read and written op by op, are the better explanation.
COPIED_WEIGHTS = 0.5
#: The share of the ops that one line of the loop has to call to be the one to name.
MOST_OPS = 0.6
#: The share of the cost that counts: a graph runs the same ops in half of the measured time at best.
GAIN = 0.5
#: Without a step: ops per second, of which half the peak counts, and the share of the time inside TensorFlow.
OPS_PER_SECOND = 1000
OF_PEAK = 0.5
INSIDE_TENSORFLOW = 0.6


def _decorate(statement: Statement, found: Finding) -> Change | None:
    """Decorate the function that the loop calls, or else the function around the line, if a graph can do its work.

    At the line of the debugging switch, remove that instead.
    """
    if any(called_name(call) == "run_functions_eagerly" for call in statement.calls()):
        return Change(statement.edited(), f"# {statement.edited()}")
    function = statement.function
    for call in statement.calls() if statement.loop else ():
        called = statement.definition(called_name(call))
        if called is not None:
            if passes_counter(statement, call):
                return None
            function = called
            break
    else:
        if function is not None and function.name == found.symbol:
            return None  # it has the loop of the steps in it
    if function is None or function.name.startswith("__") or isinstance(function, ast.AsyncFunctionDef):
        return None
    if any("tf.function" in statement.source(d) for d in function.decorator_list):
        return None
    if not can_be_graph(statement, function):
        return None
    before = statement.decorated(function)
    return Change(before, f"@tf.function\n{before}")


CAUSE = Cause(
    id=EAGER_STEP,
    area=Area.STEP,
    headline="The step runs as many small eager ops",
    mechanism="Python dispatches each eager op on its own, which takes longer than a small op itself. A graph runs all of "
    "them with one call.",
    advice="Put what TensorFlow computes in a step into one function, without prints, NumPy or an environment in it, "
    "and decorate it with @tf.function.",
    before="def train_step(x, y):",
    after="@tf.function\ndef train_step(x, y):",
    scenario="eager_train_step",
    explained_by=(
        *RECREATED,
        VARIABLE_RECREATED,
        GROWING_INPUT,
        PER_SAMPLE,
        PREDICT_LOOP,
        PYTHON_OP,
        *RETRACES,
        CALLBACK_HEAVY,
        HOST_COPY,
        INPUT_BOUND,
        TRACE_SLOW,
        *GRAPHS,
    ),
    change=_decorate,
)
#: The step would be a graph, but a debugging switch prevents it.
RUN_EAGERLY = replace(
    CAUSE,
    mechanism="tf.config.run_functions_eagerly(True) is meant for debugging: it runs every tf.function as plain Python, "
    "and each of its ops is dispatched on its own, at 10 to 60 µs each.",
    advice="Remove tf.config.run_functions_eagerly(True): while it is on, every tf.function runs op by op.",
    before="tf.config.run_functions_eagerly(True)",
    after="# removed: functions are traced once and run as graphs",
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    if facts.step is None:
        yield from _without_step(facts)
    else:
        yield from _step(facts, facts.step)


def _step(facts: Facts, step: StreamFacts) -> Iterator[Finding | None]:
    ops = ops_per_step(facts)
    seconds = max(0.0, step.seconds - compiled_seconds(facts)) if ops else 0.0
    copying = sum(c.seconds for c in weight_copies(facts)[0])
    if (
        seconds < MOST_OF_STEP * step.seconds
        or facts.steps < LEAST_STEPS
        or copying >= COPIED_WEIGHTS * seconds
    ):
        return
    each = seconds / step.calls / max(ops, 1e-9)
    loop = step if ops >= EAGER_OPS else _outer_loop(facts, step, ops)
    # On a busy machine an op takes longer to be dispatched, but not more CPU time.
    work = min(each, step.cpu / ops) if math.isfinite(step.cpu) and ops else each
    if loop is None or work > DISPATCH:
        return
    ops *= step.calls / loop.calls
    switch, site = eager_switch(facts) if functions_run_eagerly(facts) else None, _site(facts, step)
    what = "A step" if loop is step else f"An iteration of the loop at line {loop.line}"
    yield finding(
        facts,
        RUN_EAGERLY if functions_run_eagerly(facts) else CAUSE,
        switch.site if switch else site,
        f"{what} runs {ops:,.0f} eager ops at {1e6 * each:.0f} µs each: {ms(seconds / loop.calls)} of its "
        f"{ms(loop.seconds / loop.calls)}{f', most of them at {short(site[0])}:{site[1]}' if switch else ''}.",
        seconds,
        weight=GAIN,
        symbol=step.name,
        advice="Compile the model without run_eagerly=True." if step.kind == STREAM_FIT else "",
        ops_per_step=ops,
        microseconds_per_op=1e6 * each,
        least=LARGE_SHARE,
    )


def _outer_loop(facts: Facts, step: StreamFacts, ops: float) -> StreamFacts | None:
    """Return the loop around a step of few ops, such as a simulation of some hundred moments.

    Training with few ops per step is as it should be.
    """
    loop = outer_loop(facts, step)
    if loop is None or facts.training or ops * step.calls / loop.calls < EAGER_OPS:
        return None
    return loop


def _site(facts: Facts, step: StreamFacts) -> Site:
    """Return the line of the step's loop that calls most of the ops, since what it calls is the function to compile;
    else the line that runs most of them."""
    calling = [
        c for c in facts.tallies_of(TALLY_EAGER_OP_LOOP) if (c.symbol, c.file) == (step.name, step.file)
    ]
    every = sum(c.count for c in facts.tallies_of(TALLY_EAGER_OP))
    if calling and calling[0].line >= step.line and calling[0].count >= MOST_OPS * every:
        return calling[0].site
    busiest = busiest_line(facts)
    return busiest.site if busiest else step.site


def _without_step(facts: Facts) -> Iterator[Finding | None]:
    """No loop was recognised, but ops run by the thousand and the main thread spends its time with them."""
    rate, line = facts.gauges.get(GAUGE_EAGER_OPS), busiest_line(facts)
    inside = sum(c.seconds for c in facts.tallies_of(TALLY_WHERE) if c.package == PACKAGE_TENSORFLOW)
    if rate is None or line is None or OF_PEAK * rate.largest < OPS_PER_SECOND:
        return
    if inside < INSIDE_TENSORFLOW * facts.seconds:
        return
    yield finding(
        facts,
        CAUSE,
        line.site,
        f"Up to {rate.largest:,.0f} eager ops run per second; dispatching them takes "
        f"{100 * facts.share(inside):.0f} % of the time.",
        inside,
        weight=GAIN,
        ops_per_second=rate.largest,
        least=LARGE_SHARE,
    )


DETECTOR = Detector(detect, (CAUSE,))
