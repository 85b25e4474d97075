"""input-bound: the step waits for its data."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ...agent.protocol.names import (
    STREAM_DATA_LIBRARY_PYTHON_OP,
    STREAM_DATA_PYTHON_OP,
    STREAM_DATA_WAIT,
    STREAM_FIT,
    STREAM_FUNCTION,
    STREAM_MODEL_CALL,
    STREAM_PREDICT,
    STREAM_PREDICT_ON_BATCH,
    TALLY_DATASET,
    TALLY_WHERE_CALLED_BACK,
)
from ..busy import seen
from ..cause import Area, Cause, Detector
from ..facts import Facts, Site, StreamFacts, TallyFacts, keras_lines, short
from ..finding import Finding
from ..make import LARGE_SHARE, finding, ms
from ..names import CALLBACK_HEAVY, GRAPHS, GROWING_INPUT, INPUT_BOUND, PREDICT_LOOP, RECREATED, RETRACES
from ..readings.eager_ops import compiled_seconds
from ..rewriting.statement import Change, Statement, called_name

#: The share of the steps' time that is spent waiting for data. Copying a batch that is ready takes some percent.
WAITING = 0.3
#: Steps before a wait is typical.
LEAST_STEPS = 5
#: Seconds of steps in which only typical waits count: the first element always takes long.
WARM_UP = 3.0
#: The share of the waits inside fit that have to be read to stand for all of them.
READ = 0.2
#: How long such a wait may be compared with the mean step: the seconds that were read may contain most of the waiting.
TYPICAL = 1.5
#: The share of the steps' time for which a Python function in the pipeline has to run, where too few waits were read,
#: and the share of its time that counts.
BUSY_FUNCTION = 0.6
BUSY_FUNCTION_WEIGHT = 0.8
#: The share of the waiting for which a Python function in the pipeline has to run to be its reason.
PYTHON_REASON = 0.3
#: A few long waits make up all of the waiting if the median is this small compared with the mean.
BURSTS = 0.2
#: The share of the step that is the program's own Python. The environment of an agent, or an evaluation, takes a third
#: of many a healthy program.
PREPARING = 0.5
PREPARING_LEAST_SHARE = 0.3
PREPARING_LEAST_STEPS = 10
#: Seconds per step of Python: less is drawing a batch of numbers for a small model.
DRAWING = 4e-3
#: Calls of functions per step from which on the program does more than train: it acts, and reacts to the outcome.
ACTS = 1.5


def _map_in_parallel(statement: Statement, found: Finding) -> Change | None:
    """Add num_parallel_calls to the first map, and prefetch at the end of the pipeline."""
    node = statement.node
    if not isinstance(node, ast.Assign):
        return None
    for call in statement.calls():
        if called_name(call) == "map" and not any(k.arg == "num_parallel_calls" for k in call.keywords):
            new = f"{statement.source(call)[:-1]}, num_parallel_calls=tf.data.AUTOTUNE)"
            name = statement.source(node.targets[0])
            prefetch = f"{name} = {name}.prefetch(tf.data.AUTOTUNE)  # at its end"
            return Change(statement.edited(), f"{statement.edited((call, new))}\n...\n{prefetch}")
    return None


CAUSE = Cause(
    id=INPUT_BOUND,
    area=Area.HOST,
    headline="The step waits for its data",
    mechanism="The next batch is prepared only when the step asks for it, so that preparing and computing take turns "
    "instead of running side by side.",
    advice="Map with num_parallel_calls=tf.data.AUTOTUNE, and end the pipeline with .prefetch(tf.data.AUTOTUNE).",
    before="ds = ds.map(f).batch(n)",
    after="ds = ds.map(f, num_parallel_calls=tf.data.AUTOTUNE).batch(n).prefetch(tf.data.AUTOTUNE)",
    curve="waiting for data",
    scenario="serial_map",
    explained_by=(*GRAPHS, *RECREATED, *RETRACES, PREDICT_LOOP, GROWING_INPUT, CALLBACK_HEAVY),
    change=_map_in_parallel,
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    step = facts.step
    if step is None or facts.steps < LEAST_STEPS:
        return
    yield _dataset(facts, step)
    if facts.training:  # a service waits for requests and reacts to them, which is its work
        yield _other_thread(facts, step)
        yield _own_python(facts, step)


def _dataset(facts: Facts, step: StreamFacts) -> Finding | None:
    """Report waiting for a tf.data pipeline."""
    fitting = step.kind == STREAM_FIT
    python = [
        c for c in facts.streams_of(STREAM_DATA_PYTHON_OP, STREAM_DATA_LIBRARY_PYTHON_OP) if c.seconds > 0
    ]
    waits = [c for c in facts.streams_of(STREAM_DATA_WAIT) if not fitting or _is_typical(c, step)]
    if fitting and not python and not _own_datasets(facts):
        return None  # Keras cuts arrays into batches itself, which the user cannot change
    # Inside fit only some of the waits are read; they stand for all batches. Elsewhere the longest one is left out: the
    # very first element, for which a buffer has to fill.
    waited = sum(
        c.seconds * max(1.0, step.calls / c.calls) if fitting else c.seconds - c.longest for c in waits
    )
    waited = min(waited, step.seconds)
    if step.seconds < WARM_UP:
        waited = min(waited, sum(c.median * c.calls for c in waits))
    if waited >= WAITING * step.seconds:
        return _report(facts, step, waits[0], waited, python)
    # Where too few waits inside fit were read, the Python function that makes the data still is. If it runs most of the
    # time, the step has to wait for it, whatever is done in parallel.
    if fitting and python and python[0].seconds >= BUSY_FUNCTION * step.median * step.calls:
        return _report(facts, step, python[0], python[0].seconds, python, BUSY_FUNCTION_WEIGHT)
    return None


def _is_typical(wait: StreamFacts, step: StreamFacts) -> bool:
    """Return whether the waits inside fit stand for all batches: the first batch of a new model is traced, which looks
    like waiting. A wait is the mean over a second, so that means are compared."""
    return wait.calls >= READ * step.calls and wait.median <= TYPICAL * step.seconds / step.calls


def _own_datasets(facts: Facts) -> list[TallyFacts]:
    """Return the datasets that the program creates; Keras creates its own at the line that calls it."""
    keras = keras_lines(facts)
    return [c for c in facts.tallies_of(TALLY_DATASET) if c.is_users and c.site not in keras]


@dataclass(frozen=True, slots=True)
class _Reason:
    """Why the pipeline is slow."""

    kind: str
    site: Site
    words: str = ""
    advice: str = ""


def _report(
    facts: Facts,
    step: StreamFacts,
    wait: StreamFacts,
    waited: float,
    python: list[StreamFacts],
    weight: float = 1.0,
) -> Finding | None:
    reason = _reason(facts, wait, waited, python)
    return finding(
        facts,
        CAUSE,
        reason.site,
        f"The step waits {ms(waited / max(1, step.calls))} of its {ms(step.seconds / step.calls)} for "
        f"data{reason.words}.",
        waited,
        weight=weight,
        symbol=wait.name if reason.kind == "python" else "tf.data",
        advice=reason.advice,
        least=LARGE_SHARE,
        waited_share=waited / step.seconds,
        waits_for=reason.kind,
    )


def _reason(facts: Facts, wait: StreamFacts, waited: float, python: list[StreamFacts]) -> _Reason:
    own = _own_datasets(facts)
    serial = [c for c in own if c.symbol in ("_MapDataset", "_FlatMapDataset", "_FilterDataset")]
    shuffles = [c for c in own if c.symbol == "_ShuffleDataset"]
    if python and python[0].seconds >= PYTHON_REASON * waited:
        return _python_reason(facts, wait, python[0], serial)
    if shuffles and wait.median < BURSTS * wait.seconds / wait.calls:
        return _Reason(
            "shuffle buffer",
            shuffles[0].site,
            " while the shuffle buffer fills up at the beginning of each epoch",
            "Shuffle before the expensive work (indices or file names), .cache() its results, or take all epochs from "
            "one iterator over .repeat().",
        )
    if serial:
        first = min(serial, key=lambda c: c.line)
        return _Reason("serial map", first.site, " from a map that handles one element at a time")
    if repeated := _uncached_map(own):
        return _Reason(
            "repeated work",
            repeated.site,
            " from a map that does the same work again in each epoch, because no .cache() keeps its results",
            "Put .cache() after the map, before anything random and before .shuffle(); or do less in the map.",
        )
    return _Reason("pipeline", wait.site)


def _python_reason(facts: Facts, wait: StreamFacts, op: StreamFacts, serial: list[TallyFacts]) -> _Reason:
    """Name the Python function that makes the data, as near to the user's code as it is known."""
    name, site = op.name, wait.site
    called_back = [c for c in facts.tallies_of(TALLY_WHERE_CALLED_BACK) if c.file]
    generators = [c for c in serial if c.symbol == "_FlatMapDataset"]  # from_generator creates one
    if op.is_users:
        # A wrapper that only calls another function is not the place to change.
        deeper = called_back[:1] if called_back and called_back[0].symbol != op.name else []
        site = deeper[0].site if deeper else op.site
    elif called_back:
        site, name = called_back[0].site, called_back[0].symbol
    elif generators and op.name == "generator_py_func":
        site, name = generators[0].site, "the generator"
    return _Reason(
        "python",
        site,
        f" from {name} ({short(site[0])}:{site[1]}), Python code that runs {op.calls:,} times, {ms(op.median)} each",
        "Prepare the data in advance, or yield whole batches from arrays, and end the pipeline with "
        ".prefetch(tf.data.AUTOTUNE).",
    )


def _uncached_map(own: list[TallyFacts]) -> TallyFacts | None:
    """Return the first parallel map, if no dataset of the program keeps its results."""
    if any("Cache" in c.symbol or "Snapshot" in c.symbol for c in own):
        return None
    maps = [c for c in own if c.symbol.startswith("_ParallelMap")]
    return min(maps, key=lambda c: c.line, default=None)


def _other_thread(facts: Facts, step: StreamFacts) -> Finding | None:
    """Report waiting in the standard library, for a queue that another thread or process fills."""
    site, waited = next(iter(seen(facts, lambda b: b.waits).items()), (("", 0), 0.0))
    if waited < WAITING * step.seconds:
        return None
    return finding(
        facts,
        CAUSE,
        site,
        f"The step waits {ms(waited / step.calls)} of its {ms(step.seconds / step.calls)} at this line for another "
        "thread or process.",
        min(waited, step.seconds),
        symbol="wait",
        advice="Let several threads or processes prepare the data, or make their work cheaper.",
        least=LARGE_SHARE,
        waited_share=waited / step.seconds,
        waits_for="thread",
    )


def _own_python(facts: Facts, step: StreamFacts) -> Finding | None:
    """Report a training loop that mostly runs the program's own Python.

    Where a function beside the training step is called at each iteration, Python reacts to its result, as the
    environment of an agent does: the time is then spent on the actual work.
    """
    lines = seen(facts, lambda b: b.python)
    if not lines or facts.steps < PREPARING_LEAST_STEPS or step.kind == STREAM_FIT:
        return None
    # Sightings are few, and drawn to some lines; the time measured by hooks is certain.
    taken = min(sum(lines.values()), step.seconds - compiled_seconds(facts))
    calls = sum(
        c.calls
        for c in facts.streams_of(STREAM_FUNCTION, STREAM_MODEL_CALL, STREAM_PREDICT, STREAM_PREDICT_ON_BATCH)
    )
    if taken < PREPARING * step.seconds or taken < DRAWING * step.calls or calls > ACTS * facts.steps:
        return None
    site, most = next(iter(lines.items()))
    return finding(
        facts,
        CAUSE,
        site,
        f"Python code takes {ms(taken / step.calls)} of the {ms(step.seconds / step.calls)} of a step, "
        f"{ms(min(most, taken) / step.calls)} of it at this line, while TensorFlow waits.",
        min(taken, step.seconds),
        symbol="Python",
        advice="Do it once before the loop, with NumPy on whole arrays, or in a tf.data map with num_parallel_calls.",
        least=PREPARING_LEAST_SHARE,
        python_share=taken / step.seconds,
        waits_for="python",
    )


DETECTOR = Detector(detect, (CAUSE,))
