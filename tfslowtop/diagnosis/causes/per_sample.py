"""One item at a time where a batch would do."""

from __future__ import annotations

from ..facts import StreamFacts, TallyFacts, Facts
from ..finding import Finding
from ..make import finding, ms, per_step
from .eager import around, eager, inside

#: A call that takes longer than this has something to do.
SHORT_CALL = 5e-3
ITEMS_PER_STEP = 8
#: Elements that no step takes out by names of their own.
ELEMENTS = 300
#: Rows of one array from which on it is a habit; a model that takes longer for one of them has something to do.
LEAST_ROWS = 50
#: The share of a step from which on a function is what the step does.
WHOLE = 0.6
SHORT_ROW = 25e-3
#: The share of a turn from which on what happens between two calls is work of its own, and how far down it reads.
WORLD, _BODY = 0.3, 20
_GIVEN = {
    "one-row": "the next row of the same array",
    "one-item": "one item that does not depend on the result before",
}


def per_sample(facts: Facts) -> list[Finding]:
    return [f for f in (_map_fn(facts), _rows(facts), _calls_per_item(facts), _indexing(facts)) if f][:1]


def _map_fn(facts: Facts) -> Finding | None:
    """tf.map_fn in the function that takes most of the time."""
    for used in facts.tallies_of("map-fn"):
        owners = [
            c for c in facts.streams_of("function", "step") if c.file == used.file and c.line <= used.line
        ]
        owner = max(owners, key=lambda c: c.line, default=None) or _whole(facts, used)
        seconds = owner.seconds if owner else facts.at_line(used.file, used.line)
        if owner is not None and owner.calls < 3:
            continue
        made = finding(
            facts,
            "per-sample",
            (used.file, used.line),
            f"tf.map_fn goes through the batch item by item; {owner.name if owner else 'it'} takes "
            f"{ms(seconds / max(1, owner.calls if owner else used.count))} per call.",
            seconds,
            weight=0.8,
            at_most=True,
            symbol="tf.map_fn",
            least=0.2,
            remedy="Write it for the whole batch, or use tf.vectorized_map.",
            calls=owner.calls if owner else 0,
        )
        if made:
            return made
    return None


def _whole(facts: Facts, used: TallyFacts) -> StreamFacts | None:
    """The function that is nearly all of the step, or fit, for what was used in traces only: by a layer, say."""
    step = facts.step
    fits = step is not None and step.kind == "fit"
    most = step if fits else max(facts.streams_of("function"), key=lambda c: c.seconds, default=None)
    own = [f for f in facts.functions if most and (f.file, f.line) == (most.file, most.line)]
    traces = sum(f.count for f in (facts.functions if fits else own))
    if most is None or step is None or used.count > 1 + 2 * traces:
        return None
    return most if most.seconds >= WHOLE * step.seconds else None


def _rows(facts: Facts) -> Finding | None:
    """A model that is called with one row after the other of the same array, or with one item after the other."""
    for rows in facts.tallies_of("one-row", "one-item"):
        calls = [
            c
            for c in facts.streams_of("model-call", "predict-on-batch")
            if (c.file, c.line) == (rows.file, rows.line)
        ]
        if rows.count < LEAST_ROWS or not calls or calls[0].median > SHORT_ROW or facts.training:
            continue
        made = finding(
            facts,
            "per-sample",
            (rows.file, rows.line),
            f"The model is called {calls[0].calls:,} times, {rows.count:,} times with "
            f"{_GIVEN[rows.what]}, {ms(calls[0].median)} each.",
            max(calls[0].seconds, facts.at_line(rows.file, rows.line)),
            weight=0.9,
            symbol=calls[0].name,
            least=0.2,
            remedy="StreamFacts the model with the whole array, or with some hundred of them at a time.",
            calls=calls[0].calls,
        )
        if made:
            return made
    return None


def _calls_per_item(facts: Facts) -> Finding | None:
    """Many short calls per step, or a call per turn with a batch of one that was cut out of a tensor."""
    steps = max(1, facts.steps)
    cut = {(c.file, c.line) for c in facts.tallies_of("eager-op-sample") if c.symbol == "StridedSlice"}
    pulls = facts.tallies_of("host-sync")
    functions = {(f.file, f.line): f for f in reversed(facts.functions)}
    # What is cut out after the call is cut out of its result; who first called it before the loop serves.
    first = facts.step.line if facts.step else 0
    for call in facts.streams_of("function", "model-call", "predict-on-batch"):
        if call.calls < 100 or call.median > SHORT_CALL or call.is_step:
            continue
        traced = functions.get((call.file, call.line))
        place = (
            (traced.user_file, traced.user_line) if traced and traced.user_file else (call.file, call.line)
        )
        if _decides(pulls, place, place[1], call.calls) or _acts(facts, pulls, place, call, cut):
            continue
        many = call.calls >= ITEMS_PER_STEP * steps
        ones = traced is not None and 1 in traced.batch_sizes and not facts.training
        ones = ones and any(file == place[0] and first <= line <= place[1] for file, line in cut)
        # Or with one that the same line cuts out, in a loop that goes through a batch.
        parts = place in cut and not facts.training and facts.step is not None
        if not many and not ones and not (parts and facts.step and around(facts, facts.step)):
            continue
        number = (
            f"{per_step(call.calls, steps)} calls per step"
            if many
            else f"{call.calls:,} calls with one item each"
        )
        made = finding(
            facts,
            "per-sample",
            place,
            f"{call.name}: {number}, {ms(call.median)} each, {call.seconds:.1f} s in all.",
            max(call.seconds, facts.at_line(*place)),
            weight=0.8,
            symbol=call.name,
            least=0.2,
            calls=call.calls,
            called_with=traced.called_with if traced else "",
        )
        if made:
            return made
    return None


def _decides(pulls: list[TallyFacts], place: tuple[str, int], last: int, calls: int) -> bool:
    """Whether Python needs each result before the next call, as an agent in its world does."""
    own = (c.count for c in pulls if c.file == place[0] and place[1] <= c.line <= last)
    return sum(own) >= 0.5 * calls


def _acts(
    facts: Facts,
    pulls: list[TallyFacts],
    place: tuple[str, int],
    call: StreamFacts,
    cut: set[tuple[str, int]],
) -> bool:
    """The same on further lines: once per turn of a loop that has as much else to do, a world to move.

    Not where the loop goes through a tensor: its rows are there before the first call.
    """
    loops = [c for c in facts.streams_of("loop") if c.file == place[0]]
    loop = max((c for c in loops if c.line <= place[1]), key=lambda c: c.line, default=None)
    if loop is None or (loop.file, loop.line) in cut or not 0.8 * call.calls <= loop.calls <= call.calls:
        return False
    # A comprehension further down has turns of its own.
    later = {(c.line, c.calls) for c in loops if c.line > place[1]}
    own = [c for c in pulls if (c.line, c.count) not in later]
    return loop.seconds - call.seconds >= WORLD * loop.seconds and _decides(
        own, place, place[1] + _BODY, call.calls
    )


def _indexing(facts: Facts) -> Finding | None:
    """Elements taken out of a tensor one by one by Python."""
    samples = facts.tallies_of("eager-op-sample")
    total = sum(c.count for c in samples)
    slices = [
        c for c in samples if c.symbol in ("StridedSlice", "GatherV2", "Unpack") and c.late > 0.2 and c.file
    ]
    taken = sum(c.count for c in slices)
    step = facts.step
    if step is None or facts.training or taken < 0.25 * total or total < 100:
        return None
    seconds = max(0.0, step.seconds - inside(facts))
    worst = slices[0]
    turn = facts.steps >= ELEMENTS and step.median <= SHORT_CALL
    each = eager(facts)[0] * worst.count / total
    if seconds < 0.6 * step.seconds or not (turn or each >= ELEMENTS):
        return None
    number = f"{facts.steps:,} turns of {ms(step.median)}" if turn else f"{each:,.0f} per step"
    return finding(
        facts,
        "per-sample",
        (worst.file, worst.line),
        f"Elements are taken out of a tensor one by one: {number}.",
        seconds,
        weight=0.9,
        symbol=worst.symbol,
        least=0.2,
        remedy="Use tensor operations on all elements (tf.where, tf.reduce_sum), or call .numpy() once before the loop.",
        slices_share=taken / total,
    )


RULES = (per_sample,)
