"""per-sample: items are processed one at a time where a batch would do."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...agent.protocol.names import (
    STREAM_FIT,
    STREAM_FUNCTION,
    STREAM_LOOP,
    STREAM_MODEL_CALL,
    STREAM_PREDICT_ON_BATCH,
    STREAM_STEP,
    TALLY_EAGER_OP,
    TALLY_HOST_SYNC,
    TALLY_MAP_FN,
    TALLY_ONE_ITEM,
    TALLY_ONE_ROW,
)
from ..cause import Area, Cause, Detector
from ..facts import Facts, FunctionFacts, Site, StreamFacts, TallyFacts
from ..finding import Finding
from ..make import LARGE_SHARE, finding, ms, per_step
from ..names import PER_SAMPLE, PREDICT_LOOP, PYTHON_OP, RECREATED, RETRACES, VALIDATION_HEAVY
from ..readings.eager_ops import compiled_seconds, ops_per_step, outer_loop
from ..rewriting.statement import Change, Statement, called_name

#: Seconds per call. A call that takes longer has real work to do.
SHORT_CALL = 5e-3
#: Calls before they are a habit, and calls per step that are more than a step needs.
LEAST_CALLS = 100
ITEMS_PER_STEP = 8
#: Elements that no step takes out one by one with names of their own.
ELEMENTS = 300
#: Ops that were sampled before they are enough to judge by, the share of them that take elements out of a tensor, and
#: the share of the step outside of functions.
LEAST_SAMPLES = 100
SLICES = 0.25
MOSTLY_EAGER = 0.6
#: Rows of one array before they are a habit, and seconds for one row: a model that takes longer has real work to do.
LEAST_ROWS = 50
SHORT_ROW = 25e-3
#: The share of the step that a function has to take to be what the step does.
WHOLE_STEP = 0.6
#: Calls of that function before it is the step, and uses of tf.map_fn per trace of it.
LEAST_FUNCTION_CALLS = 3
USES_PER_TRACE = 2
#: The share of the calls whose result Python reads before the next one.
READS_RESULT = 0.5
#: The share of the calls that the iterations of the loop have to account for, to be the loop around them.
LOOP_OF_CALLS = 0.8
#: The share of an iteration that is other work than the call, and how many lines below the call it may read the
#: result.
OTHER_WORK = 0.3
BODY_LINES = 20
#: The shares of the time that count: what a batch saves of a loop of short calls or of tf.map_fn, and of model calls
#: or indexing, which are nearly all overhead.
CALLS_WEIGHT = 0.8
ROWS_WEIGHT = 0.9
_ITEMS = {
    TALLY_ONE_ROW: "the next row of the same array",
    TALLY_ONE_ITEM: "an item that does not depend on the previous result",
}


def _vectorize(statement: Statement, found: Finding) -> Change | None:
    """Replace tf.map_fn by tf.vectorized_map."""
    for call in statement.calls():
        if called_name(call) == "map_fn":
            keep = [statement.source(a) for a in call.args[:2]]
            keep += [
                f"{k.arg}={statement.source(k.value)}" for k in call.keywords if k.arg in ("fn", "elems")
            ]
            new = f"tf.vectorized_map({', '.join(keep)})"
            return Change(statement.edited(), statement.edited((call, new)))
    return None


CAUSE = Cause(
    id=PER_SAMPLE,
    area=Area.STEP,
    headline="Items are processed one at a time where a batch would do",
    mechanism="Each call has a fixed overhead, whatever the size of its input. A batch pays it once, a loop pays it for "
    "every item.",
    advice="Process the whole batch at once.",
    before="for row in x:\n    y.append(f(row))",
    after="y = f(x)  # or tf.vectorized_map(f, x)",
    scenario="batching",
    explained_by=(PREDICT_LOOP, VALIDATION_HEAVY, *RETRACES, *RECREATED, PYTHON_OP),
    change=_vectorize,
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    """Yield the first of the forms that is found; the others are usually the same loop."""
    forms: tuple[Callable[[Facts], Finding | None], ...] = (_map_fn, _rows, _calls_per_item, _indexing)
    yield next((found for form in forms if (found := form(facts)) is not None), None)


def _map_fn(facts: Facts) -> Finding | None:
    """Report tf.map_fn in the function that takes most of the time."""
    for used in facts.tallies_of(TALLY_MAP_FN):
        owners = [
            c
            for c in facts.streams_of(STREAM_FUNCTION, STREAM_STEP)
            if c.file == used.file and c.line <= used.line
        ]
        owner = max(owners, key=lambda c: c.line, default=None) or _whole_step(facts, used)
        if owner is not None and owner.calls < LEAST_FUNCTION_CALLS:
            continue
        seconds = owner.seconds if owner else facts.seconds_at(used.site)
        found = finding(
            facts,
            CAUSE,
            used.site,
            f"tf.map_fn processes the batch item by item; {owner.name if owner else 'it'} takes "
            f"{ms(seconds / max(1, owner.calls if owner else used.count))} per call.",
            seconds,
            weight=CALLS_WEIGHT,
            at_most=True,
            symbol="tf.map_fn",
            least=LARGE_SHARE,
            advice="Write it for the whole batch, or use tf.vectorized_map.",
            calls=owner.calls if owner else 0,
        )
        if found:
            return found
    return None


def _whole_step(facts: Facts, used: TallyFacts) -> StreamFacts | None:
    """Return the function, or fit, that is nearly all of the step, for a tf.map_fn used in traces only: by a layer,
    say."""
    step = facts.step
    if step is None:
        return None
    fits = step.kind == STREAM_FIT
    most = step if fits else max(facts.streams_of(STREAM_FUNCTION), key=lambda c: c.seconds, default=None)
    if most is None:
        return None
    traces = sum(f.count for f in facts.functions if fits or f.site == most.site)
    if used.count > 1 + USES_PER_TRACE * traces:
        return None
    return most if most.seconds >= WHOLE_STEP * step.seconds else None


def _rows(facts: Facts) -> Finding | None:
    """Report a model that is called with one row of an array, or one independent item, after the other."""
    if facts.training:
        return None
    for rows in facts.tallies_of(TALLY_ONE_ROW, TALLY_ONE_ITEM):
        calls = [
            c for c in facts.streams_of(STREAM_MODEL_CALL, STREAM_PREDICT_ON_BATCH) if c.site == rows.site
        ]
        if rows.count < LEAST_ROWS or not calls or calls[0].median > SHORT_ROW:
            continue
        found = finding(
            facts,
            CAUSE,
            rows.site,
            f"The model is called {calls[0].calls:,} times, {rows.count:,} times with {_ITEMS[rows.what]}, "
            f"{ms(calls[0].median)} each.",
            max(calls[0].seconds, facts.seconds_at(rows.site)),
            weight=ROWS_WEIGHT,
            symbol=calls[0].name,
            least=LARGE_SHARE,
            advice="Call the model with the whole array, or with a few hundred items at a time.",
            calls=calls[0].calls,
        )
        if found:
            return found
    return None


def _calls_per_item(facts: Facts) -> Finding | None:
    """Report many short calls per step, or calls with single items cut out of a tensor."""
    sliced = {c.site for c in facts.tallies_of(TALLY_EAGER_OP) if c.symbol == "StridedSlice"}
    functions = {f.site: f for f in reversed(facts.functions)}
    for call in facts.streams_of(STREAM_FUNCTION, STREAM_MODEL_CALL, STREAM_PREDICT_ON_BATCH):
        if call.calls < LEAST_CALLS or call.median > SHORT_CALL or call.is_step:
            continue
        function = functions.get(call.site)
        site = (function.user_file, function.user_line) if function and function.user_file else call.site
        if _needs_results(facts, call, site, sliced):
            continue
        many = call.calls >= ITEMS_PER_STEP * max(1, facts.steps)
        if not many and not _takes_single_items(facts, function, site, sliced):
            continue
        per = f"{per_step(call.calls, facts.steps)} calls per step"
        number = per if many else f"{call.calls:,} calls with one item each"
        found = finding(
            facts,
            CAUSE,
            site,
            f"{call.name}: {number}, {ms(call.median)} each, {call.seconds:.1f} s in all.",
            max(call.seconds, facts.seconds_at(site)),
            weight=CALLS_WEIGHT,
            symbol=call.name,
            least=LARGE_SHARE,
            calls=call.calls,
            called_with=function.called_with if function else "",
        )
        if found:
            return found
    return None


def _takes_single_items(facts: Facts, function: FunctionFacts | None, site: Site, sliced: set[Site]) -> bool:
    """Return whether each call gets one item that was cut out of a tensor."""
    if facts.training:
        return False
    # What is cut out below the call comes from its result; what is cut out above the loop is prepared once.
    first = facts.step.line if facts.step else 0
    cut_before = any(file == site[0] and first <= line <= site[1] for file, line in sliced)
    if function is not None and 1 in function.batch_sizes and cut_before:
        return True
    # Or the line of the call cuts the item out itself, in a loop over a batch.
    return site in sliced and facts.step is not None and outer_loop(facts, facts.step) is not None


def _needs_results(facts: Facts, call: StreamFacts, site: Site, sliced: set[Site]) -> bool:
    """Return whether Python needs each result before the next call, as an agent in its environment does."""
    pulls = facts.tallies_of(TALLY_HOST_SYNC)
    return _reads_results(pulls, site, site[1], call.calls) or _acts_on_results(
        facts, pulls, call, site, sliced
    )


def _reads_results(pulls: list[TallyFacts], site: Site, last: int, calls: int) -> bool:
    """Return whether most results are pulled to the host between the call and the line `last`."""
    own = (c.count for c in pulls if c.file == site[0] and site[1] <= c.line <= last)
    return sum(own) >= READS_RESULT * calls


def _acts_on_results(
    facts: Facts, pulls: list[TallyFacts], call: StreamFacts, site: Site, sliced: set[Site]
) -> bool:
    """Return whether results are read below the call, in a loop with much other work, such as an environment.

    A loop over a tensor does not count: its rows are known before the first call.
    """
    loops = [c for c in facts.streams_of(STREAM_LOOP) if c.file == site[0]]
    loop = max((c for c in loops if c.line <= site[1]), key=lambda c: c.line, default=None)
    if loop is None or loop.site in sliced or not LOOP_OF_CALLS * call.calls <= loop.calls <= call.calls:
        return False
    # A comprehension further down has iterations of its own.
    later = {(c.line, c.calls) for c in loops if c.line > site[1]}
    own = [c for c in pulls if (c.line, c.count) not in later]
    has_other_work = loop.seconds - call.seconds >= OTHER_WORK * loop.seconds
    return has_other_work and _reads_results(own, site, site[1] + BODY_LINES, call.calls)


def _indexing(facts: Facts) -> Finding | None:
    """Report elements that Python takes out of a tensor one by one."""
    step = facts.step
    if step is None or facts.training:
        return None
    samples = facts.tallies_of(TALLY_EAGER_OP)
    total = sum(c.count for c in samples)
    slices = [
        c for c in samples if c.symbol in ("StridedSlice", "GatherV2", "Unpack") and c.is_ongoing and c.file
    ]
    taken = sum(c.count for c in slices)
    if total < LEAST_SAMPLES or taken < SLICES * total:
        return None
    seconds = max(0.0, step.seconds - compiled_seconds(facts))
    worst = slices[0]
    one_per_step = facts.steps >= ELEMENTS and step.median <= SHORT_CALL
    each = ops_per_step(facts) * worst.count / total
    if seconds < MOSTLY_EAGER * step.seconds or not (one_per_step or each >= ELEMENTS):
        return None
    number = f"{facts.steps:,} iterations of {ms(step.median)}" if one_per_step else f"{each:,.0f} per step"
    return finding(
        facts,
        CAUSE,
        worst.site,
        f"Python takes elements out of a tensor one by one: {number}.",
        seconds,
        weight=ROWS_WEIGHT,
        symbol=worst.symbol,
        least=LARGE_SHARE,
        advice="Use tensor operations on all elements (tf.where, tf.reduce_sum), or call .numpy() once before the loop.",
        slices_share=taken / total,
    )


DETECTOR = Detector(detect, (CAUSE,))
