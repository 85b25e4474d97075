"""tensor-leak, python-leak and kernel-leak: memory grows with the steps."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...agent.protocol.names import GAUGE_RSS, TALLY_KEPT_OBJECT, TALLY_KEPT_TENSOR, TALLY_SEEDED_DRAW
from ..cause import Area, Cause, Detector
from ..facts import Facts, StreamFacts, TallyFacts
from ..finding import Finding
from ..make import finding, size
from ..names import (
    GRAPHS,
    GROWING_INPUT,
    KERNEL_LEAK,
    PREDICT_LOOP,
    PYTHON_LEAK,
    RECREATED,
    RETRACES,
    TENSOR_LEAK,
    VARIABLE_RECREATED,
)
from ..readings.memory_growth import LEAK, SLOW_LEAK, bytes_per_step, leaked_share
from ..readings.numpy_program import STILL_GROWS, is_numpy_program
from ..rewriting.statement import Change, Statement, called_name, last_name

#: Steps before growth can be told from a warm-up.
LEAST_STEPS = 30
#: The share of the growth that a container has to account for, by the rough size of its entries; and entries that a
#: cache has to gain, whose size is unknown.
EXPLAINS = 0.2
LEAST_KEPT = 30
#: Steps, and share of the memory, from which on growth without a known holder is a leak. What an allocator keeps for
#: itself, for a new iterator in each epoch say, is less.
MANY_STEPS = 200
UNEXPLAINED = 0.15
#: Bytes of a kernel at least; 36 kB were measured on TensorFlow 2.21 (scenarios/seeded_random.py).
KERNEL = 20_000
#: Bytes, and share of the memory, up to which a NumPy program may well mean to keep what it has: samples, snapshots.
NUMPY_KEPT = 200e6
NUMPY_SHARE = 0.5
#: Bytes of a number with its dtype. A larger entry cannot be replaced by a number.
_SCALAR = 16


def _keep_less(statement: Statement, found: Finding) -> Change | None:
    """Keep the number instead of the tensor, or only the newest entries."""
    entry = float(str(found.evidence.get("entry_bytes") or 0.0))
    if found.cause == TENSOR_LEAK and 0 < entry <= _SCALAR:
        for call in statement.calls():
            if called_name(call) == "append" and call.args:
                new = f"float({statement.source(call.args[0])})"
                return Change(statement.edited(), statement.edited((call.args[0], new)))
    return _bound_list(statement, found.symbol)


#: Functions of TensorFlow that need a list, and json.dump.
_LIST_CALLS = ("stack", "concat", "add_n", "convert_to_tensor", "constant", "dump", "dumps")


def _bound_list(statement: Statement, container: str) -> Change | None:
    """Turn an empty list that is filled later into a deque with a bound."""
    made = statement.assignment(re.sub(r"\[[^\]]*\]", "", container).rpartition(".")[2])
    if made is None or not isinstance(made.value, ast.List) or made.value.elts:
        return None
    name = last_name(made.targets[0])
    # A deque cannot be cut like a list, and TensorFlow does not take it for one.
    cut = (
        n for n in ast.walk(statement.tree) if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Slice)
    )
    calls = (n for n in ast.walk(statement.tree) if isinstance(n, ast.Call) and called_name(n) in _LIST_CALLS)
    if any(last_name(n.value) == name for n in cut) or any(
        last_name(a) == name for c in calls for a in c.args
    ):
        return None
    use = statement.edited()
    new = statement.text(made, (made.value, "collections.deque(maxlen=100)"))
    return Change(f"{statement.text(made)}\n...\n{use}", f"{new}  # the newest 100\n...\n{use}")


_CREATED = (*GRAPHS, *RECREATED, *RETRACES, VARIABLE_RECREATED)
TENSORS = Cause(
    id=TENSOR_LEAK,
    area=Area.MEMORY,
    headline="Tensors are kept and fill the memory",
    mechanism="A tensor lives as long as anything refers to it. A list, a dict or a closure that grows keeps all of its "
    "tensors, with everything that they hold.",
    advice="Keep the number instead of the tensor, with float(loss), or only the newest entries.",
    before="history.append(loss)",
    after="history.append(float(loss))",
    curve=GAUGE_RSS,
    scenario="kept_tensors",
    explained_by=(*_CREATED, GROWING_INPUT, PREDICT_LOOP),
    change=_keep_less,
)
OBJECTS = Cause(
    id=PYTHON_LEAK,
    area=Area.MEMORY,
    headline="Python objects are kept and fill the memory",
    mechanism="Whatever a list, a dict or a cache holds stays in memory, and the garbage collector has to go through all "
    "of it again and again.",
    advice="Keep only what is needed, in a collections.deque(maxlen=...) for example, or write it to a file.",
    before="log.append(entry)",
    after="log = collections.deque(maxlen=1000)",
    curve=GAUGE_RSS,
    scenario="append_history",
    explained_by=(*_CREATED, GROWING_INPUT, PREDICT_LOOP),
    change=_keep_less,
)
KERNELS = Cause(
    id=KERNEL_LEAK,
    area=Area.MEMORY,
    headline="Seeded random ops leave kernels in memory",
    mechanism="Under a global seed each eager random op gets a seed of its own, as an attribute. TensorFlow keeps a kernel "
    "for every set of attributes it has met, so each draw leaves one that is never used again.",
    advice="Draw from a tf.random.Generator.from_seed(...) that is created once before the loop, or inside the "
    "tf.function.",
    before="tf.random.set_seed(1)\nfor i in range(steps):\n    x = tf.random.normal(shape)",
    after="generator = tf.random.Generator.from_seed(1)\nfor i in range(steps):\n    x = generator.normal(shape)",
    curve=GAUGE_RSS,
    scenario="seeded_random",
    explained_by=(*_CREATED, PREDICT_LOOP),
)
_FIND_HOLDER = (
    "Call tracemalloc.start() before the loop and compare two tracemalloc.take_snapshot(), a hundred steps apart: "
    "they name the line that allocates what stays."
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    if facts.step is not None and facts.steps >= LEAST_STEPS and GAUGE_RSS in facts.gauges:
        yield _growth(facts, facts.step)
    if is_numpy_program(facts) and GAUGE_RSS in facts.gauges:
        yield _numpy(facts)


def _growth(facts: Facts, step: StreamFacts) -> Finding | None:
    """Report memory that rises with the steps, and what holds it."""
    kept = [c for c in facts.tallies_of(TALLY_KEPT_TENSOR, TALLY_KEPT_OBJECT) if c.is_ongoing]
    kept.sort(key=lambda c: -c.size)
    holder = kept[0] if kept else None
    rises = bytes_per_step(facts)
    held = holder.size / facts.steps if holder else 0.0
    if max(rises, held) * facts.steps < LEAK:
        return None
    # A list of numbers grows in many a healthy program: the holder has to account for a good part of the memory.
    if holder is not None and held < EXPLAINS * rises:
        holder = next((c for c in kept if not c.size and c.count >= LEAST_KEPT), None)
    if holder is not None:
        return None if holder.bounded else _held(facts, step, holder, max(rises, held))
    draws = _random_draws(facts, rises)
    if draws is not None:
        return _kernels(facts, draws, rises)
    return _unexplained(facts, step, max(rises, held), rises)


def _held(facts: Facts, step: StreamFacts, holder: TallyFacts, per_step: float) -> Finding | None:
    name, kind = holder.symbol, holder.container
    tensors = holder.what == TALLY_KEPT_TENSOR
    return finding(
        facts,
        TENSORS if tensors else OBJECTS,
        holder.site if holder.file else step.site,
        f"Memory grows by {size(per_step)} per step, {size(per_step * facts.steps)} so far: the {kind} `{name}` has gained "
        f"{holder.count:,} {'entries with tensors' if tensors else 'entries'}.",
        None,
        symbol=name,
        confidence="high" if holder.file else "medium",
        bytes_per_step=per_step,
        memory_share=leaked_share(facts, per_step),
        rss=facts.gauges[GAUGE_RSS].last,
        kept=holder.count,
        entry_bytes=holder.size / holder.count if holder.count else None,
    )


def _unexplained(facts: Facts, step: StreamFacts, per_step: float, rises: float) -> Finding | None:
    """Report growth that no container explains, unless it goes up and down, or is a warm-up of the allocator."""
    rss = facts.gauges[GAUGE_RSS]
    if rss.rise < LEAK or facts.steps < MANY_STEPS or leaked_share(facts, rises) < UNEXPLAINED:
        return None
    return finding(
        facts,
        OBJECTS,
        step.site,
        f"Memory grows by {size(per_step)} per step, {size(per_step * facts.steps)} so far, but no list, dict or set "
        "with a name in the program grows with it.",
        None,
        advice=_FIND_HOLDER,
        confidence="medium",
        bytes_per_step=per_step,
        memory_share=leaked_share(facts, per_step),
        rss=rss.last,
        kept=None,
        entry_bytes=None,
    )


def _random_draws(facts: Facts, rises: float) -> TallyFacts | None:
    """Return the line whose seeded random numbers explain the growth."""
    draws = [c for c in facts.tallies_of(TALLY_SEEDED_DRAW) if c.is_ongoing and c.file]
    if sum(c.count for c in draws) * KERNEL < EXPLAINS * rises * facts.steps:
        return None
    return draws[0]


def _kernels(facts: Facts, draws: TallyFacts, per_step: float) -> Finding | None:
    if per_step * facts.steps < SLOW_LEAK * facts.gauges[GAUGE_RSS].last:
        return None
    return finding(
        facts,
        KERNELS,
        draws.site,
        f"Memory grows by {size(per_step)} per step, {size(per_step * facts.steps)} so far: a global seed is set, and "
        f"each of the {draws.count:,} random ops that ran eagerly at this line has left a kernel in TensorFlow's cache.",
        None,
        symbol="tf.random",
        since=draws.since,
        bytes_per_step=per_step,
        memory_share=leaked_share(facts, per_step),
        draws=draws.count,
    )


def _numpy(facts: Facts) -> Finding | None:
    """Report a list, dict or set of a NumPy program that grows to the end."""
    kept = [c for c in facts.tallies_of(TALLY_KEPT_OBJECT) if c.late >= STILL_GROWS and not c.bounded]
    if not kept:
        return None
    rss, most = facts.gauges[GAUGE_RSS], max(kept, key=lambda c: c.size)
    share = most.size / max(rss.largest, 1.0)
    if most.size < NUMPY_KEPT or share < NUMPY_SHARE:
        return None
    name, kind = most.symbol, most.container
    return finding(
        facts,
        OBJECTS,
        most.site,
        f"The {kind} `{name}` has gained {most.count:,} entries and still grows: it keeps {size(most.size)} of the "
        f"{size(rss.largest)} in memory.",
        None,
        symbol=name,
        confidence="high" if most.file else "medium",
        memory_share=min(1.0, share),
        rss=rss.largest,
        kept=most.count,
    )


DETECTOR = Detector(detect, (TENSORS, OBJECTS, KERNELS))
