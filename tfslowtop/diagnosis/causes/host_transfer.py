"""host-sync and host-copy: results are pulled to the host, or arrays pushed to TensorFlow, at every step."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from dataclasses import replace

from ...agent.protocol.names import (
    FEED_DICT,
    RUN_FEEDING,
    STREAM_FUNCTION,
    STREAM_SESSION_RUN,
    TALLY_HOST_COPY,
    TALLY_HOST_SYNC,
    TALLY_RUN_TRACE,
    TALLY_WHERE,
)
from ..busy import busy
from ..cause import Area, Cause, Detector
from ..facts import Facts, TallyFacts
from ..finding import Finding
from ..make import finding, ms, size
from ..names import (
    CALLBACK_HEAVY,
    EAGER_STEP,
    GROWING_INPUT,
    HOST_COPY,
    HOST_SYNC,
    INPUT_BOUND,
    PER_SAMPLE,
    PREDICT_LOOP,
    PYTHON_OP,
)
from ..readings.weight_copies import LARGE, weight_copies
from ..rewriting.hoist import hoisted
from ..rewriting.statement import (
    Change,
    Statement,
    called_name,
    indented,
    last_name,
    names_assigned,
    names_read,
)

#: The share of the time from which on a copy is worth avoiding: data has to reach the device somehow.
COPYING = 0.1
#: Seconds per step from which on feeding Python lists is worth reporting; their size in bytes is unknown.
LISTS = 2e-3
#: Pulls per step that are more than reading a loss and some metrics.
PULLS = 10
#: Bytes per step that are large for results, which a program has to read sooner or later.
LARGE_RESULT = 4 * LARGE
#: The share of a run that passes before its first op begins, while it is fed. Less is a batch, which is read once.
FEEDING = 0.25
LEAST_RUNS = 5
#: The methods by which a program asks for an array.
_ASKS = ("numpy", "__array__", "__float__", "__int__", "__bool__", "__index__", "item", "get_value")


def _keep_as_tensors(statement: Statement, found: Finding) -> Change | None:
    """Keep results that are only collected as tensors until after the loop."""
    for call in statement.calls():
        if called_name(call) != "append" or not isinstance(call.func, ast.Attribute) or not call.args:
            continue
        pulled, into = call.args[0], statement.source(call.func.value)
        if isinstance(pulled, ast.Call) and called_name(pulled) in ("numpy", "float"):
            of = pulled.func.value if isinstance(pulled.func, ast.Attribute) else pulled.args[0]
            after = statement.edited((pulled, statement.source(of)))
            return Change(statement.edited(), f"{after}\n# after the loop: np.array({into})")
    return None


def _copy_once(statement: Statement, found: Finding) -> Change | None:
    """Convert the array to a tensor before the loop, and take pieces of it in the loop."""
    loop = statement.loop
    for call in statement.calls():
        if loop is None or called_name(call) not in ("constant", "convert_to_tensor") or not call.args:
            continue
        part, changing = call.args[0], names_assigned(loop)
        if not names_read(part) & changing:
            return hoisted(statement)
        if isinstance(part, ast.Subscript) and not names_read(part.value) & changing:
            base = statement.source(part.value)
            new = f"{last_name(part.value)}_on_device"
            piece = statement.source(part).replace(base, new, 1)
            header, text = statement.header(loop), indented(statement.edited())
            made = f"{new} = {statement.source(call.func)}({base})"
            return Change(
                f"{header}\n{text}", f"{made}\n{header}\n{indented(statement.edited((call, piece)))}"
            )
    return None


SYNC = Cause(
    id=HOST_SYNC,
    area=Area.HOST,
    headline="Results are pulled to the host at every step",
    mechanism="Pulling a result waits until everything before it has been computed, and copies it.",
    advice="Keep results as tensors, and pull them once after the loop or every hundred steps.",
    before="values.append(y.numpy())",
    after="values.append(y)  # after the loop: np.array(values)",
    scenario="numpy_sync",
    explained_by=(INPUT_BOUND, PYTHON_OP, PER_SAMPLE, EAGER_STEP, PREDICT_LOOP, CALLBACK_HEAVY),
    change=_keep_as_tensors,
)
COPY = Cause(
    id=HOST_COPY,
    area=Area.HOST,
    headline="Large arrays are copied to TensorFlow at every step",
    mechanism="An array has to be copied into TensorFlow's own memory, all of it, before an op can use it.",
    advice="Convert the array to a tensor once, before the loop, or let tf.data with prefetch deliver the batches.",
    before="for i in range(steps):\n    x = tf.constant(array)",
    after="x = tf.constant(array)\nfor i in range(steps):\n    ...",
    scenario="host_copies",
    explained_by=(PREDICT_LOOP, GROWING_INPUT),
    change=_copy_once,
)
#: A copy that each run of a Session begins with.
FED_COPY = replace(
    COPY,
    mechanism="TensorFlow copies every array that is fed, at each run, before the first op begins. Only an array whose "
    "memory happens to begin at a multiple of 64 bytes is used in place.",
    advice="Put the array into a tf.Variable once (or into tf.data), and feed the indices of the rows that a run needs.",
    before="batch = tf.gather(data_placeholder, rows)\nfor r in order:\n"
    "    sess.run(step, {data_placeholder: data, rows: r})",
    after="data_variable = tf.Variable(data, trainable=False)\nbatch = tf.gather(data_variable, rows)\n"
    "for r in order:\n    sess.run(step, {rows: r})",
)


def _for_weights(cause: Cause) -> Cause:
    """Return the variant of a cause in which all weights of a model are copied at each step."""
    return replace(
        cause,
        mechanism="get_weights reads each variable with an op of its own and copies it into an array; set_weights copies "
        "each one back.",
        advice="Let TensorFlow update the weights: assign each variable from its counterpart, in a tf.function.",
        before="for old, new in zip(target.get_weights(), online.get_weights()):\n"
        "    updated.append(tau * new + (1 - tau) * old)\ntarget.set_weights(updated)",
        after="@tf.function\ndef update():\n    for old, new in zip(target.variables, online.variables):\n"
        "        old.assign(tau * new + (1 - tau) * old)",
        scenario="host_copies",
    )


_FEED_AN_ARRAY = (
    "Convert it to an array of the placeholder's dtype once, before the loop: "
    "x = np.asarray(x, placeholder.dtype.as_numpy_dtype)."
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    weights = _weights(facts)
    yield weights
    reported = {c.site for c in weight_copies(facts)[0]} if weights else set()
    for copy in facts.tallies_of(TALLY_HOST_COPY):
        if copy.site not in reported:
            yield _pushed(facts, copy)
    for pull in facts.tallies_of(TALLY_HOST_SYNC):
        if pull.site not in reported:
            yield _pulled(facts, pull)
    for fed in facts.tallies_of(TALLY_RUN_TRACE):
        if fed.symbol == RUN_FEEDING:
            yield _fed(facts, fed)


def _pushed(facts: Facts, copy: TallyFacts) -> Finding | None:
    steps = max(1, facts.steps)
    fed = copy.symbol == FEED_DICT
    lists = fed and not copy.size and copy.seconds / steps >= LISTS
    if not (copy.size / steps >= LARGE or lists) or not copy.is_ongoing or not copy.file:
        return None
    what = size(copy.size / steps) if copy.size else "Python lists"
    done = "fed with another dtype than the placeholder's and converted" if fed else "copied to TensorFlow"
    return finding(
        facts,
        COPY,
        copy.site,
        f"{what} are {done} at each step, {ms(copy.seconds / steps)}.",
        max(copy.seconds, 0.0),
        symbol=copy.symbol,
        advice=_FEED_AN_ARRAY if fed else "",
        bytes_per_step=copy.size / steps,
        least=COPYING,
    )


def _pulled(facts: Facts, pull: TallyFacts) -> Finding | None:
    steps = max(1, facts.steps)
    many, large = pull.count >= PULLS * steps, pull.size / steps >= LARGE_RESULT
    if not (many or large) or not pull.is_ongoing or not pull.file:
        return None
    what = f"{pull.count / steps:.0f} results" if many else size(pull.size / steps)
    taken = max(pull.seconds, _asking(facts, pull))
    return finding(
        facts,
        SYNC,
        pull.site,
        f"{what} are pulled to the host at each step, {ms(taken / steps)}.",
        taken,
        pulls_per_step=pull.count / steps,
        bytes_per_step=pull.size / steps,
        least=COPYING,
    )


def _asking(facts: Facts, pull: TallyFacts) -> float:
    """Return the seconds in which the line was seen asking for arrays: a variable has to be read first."""
    there = (c for c in facts.tallies_of(TALLY_WHERE) if c.site == pull.site)
    return sum(c.seconds for c in there if busy(c).callee in _ASKS)


def _fed(facts: Facts, fed: TallyFacts) -> Finding | None:
    """Report large arrays that are copied into each run of a Session, judging by some runs that were traced."""
    runs = [r for r in facts.streams_of(STREAM_SESSION_RUN) if r.site == fed.site]
    if not runs or runs[0].calls < LEAST_RUNS:
        return None
    converted = sum(
        c.seconds for c in facts.tallies_of(TALLY_HOST_COPY) if c.symbol == FEED_DICT and c.site == fed.site
    )
    # The conversion is a finding of its own.
    each = min(fed.seconds / fed.count - converted / runs[0].calls, runs[0].median)
    if each < FEEDING * runs[0].median:
        return None
    return finding(
        facts,
        FED_COPY,
        fed.site,
        f"{size(fed.size / fed.count)} are copied into each run at this line: {ms(each)} of its {ms(runs[0].median)} "
        f"pass before the first op begins, as {fed.count} traced runs show.",
        each * runs[0].calls,
        symbol=FEED_DICT,
        bytes_per_step=fed.size / fed.count,
        least=COPYING,
    )


def _weights(facts: Facts) -> Finding | None:
    """Report all weights of a model being copied at each step."""
    seen, per_step = weight_copies(facts)
    if not seen:
        return None
    # Sightings are no clock: what functions have taken was not taken there.
    steps, step = max(1, facts.steps), facts.step
    functions = sum(c.seconds for c in facts.streams_of(STREAM_FUNCTION, STREAM_SESSION_RUN))
    rest = step.seconds - functions if step else math.inf
    seconds = max(0.0, min(sum(c.seconds for c in seen), rest))
    worst = max(seen, key=lambda c: (busy(c).callee == "get_weights", c.seconds))  # weights are pulled first
    name = busy(worst).callee
    return finding(
        facts,
        _for_weights(COPY if name == "set_weights" else SYNC),
        worst.site,
        f"Weights are copied through arrays on the host, {size(per_step)} per step: {ms(seconds / steps)} in "
        f"{' and '.join(sorted({busy(c).callee for c in seen}))}.",
        seconds,
        at_most=True,  # assigning them takes time, too
        symbol=name,
        least=COPYING,
        bytes_per_step=per_step,
    )


DETECTOR = Detector(detect, (SYNC, COPY))
