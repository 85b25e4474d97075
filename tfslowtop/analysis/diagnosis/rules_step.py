"""How the step spends its time: eager ops, items one by one, predict in a loop, Python ops, growing work."""

from __future__ import annotations

import math
import re

from .facts import Call, Count, Facts
from .finding import Finding
from .make import finding, ms, per_step

#: Eager ops per step from which on their dispatch is worth a graph; a small regression by hand has 20 to 30.
EAGER_OPS = 60
#: An op that takes longer than this is computing, not being dispatched (10 to 60 µs): a graph gains little.
DISPATCH = 400e-6
#: A call that takes longer than this has something to do.
SHORT_CALL = 5e-3
ITEMS_PER_STEP = 8
#: predict and fit have a fixed price of 20 to 100 ms, ten times that on a busy machine. Above this much, or
#: with more than a third of it in the model's own function, they do real work.
LONG_PREDICT = 1.5
MOSTLY_AROUND = 0.67
LEAST_PREDICTS = 10
#: Pieces that are joined to one that grows take a part of what its use takes.
JOINS = 0.1
#: Where Keras keeps the functions that run a batch.
_TRAINERS = ("trainer.py", "training.py")
_PREDICT_REMEDIES = {"fit": "Use model.train_on_batch(x, y), or collect the samples and call fit once."}

_WORK = ("function", "session-run", "predict", "evaluate", "fit-call", "predict-on-batch", "train-on-batch")


def _inside(facts: Facts) -> float:
    """Seconds of the step in calls that are not eager ops."""
    # The call of fit is all of its steps; what they do as a graph is in a function of Keras' own.
    fitting = facts.step is not None and facts.step.kind == "fit"
    work = (*(k for k in _WORK if k != "fit-call"), "library-function") if fitting else _WORK
    return sum(c.seconds for c in facts.of(*work, "data-wait"))


def _eager(facts: Facts) -> tuple[float, float]:
    """Eager ops per step, and seconds of the steps outside of functions."""
    rate = facts.gauges.get("eager ops per second")
    step = facts.step
    if rate is None or step is None or not step.calls or rate.trend is None:
        return 0.0, 0.0
    level = rate.trend.level if math.isfinite(rate.trend.level) else rate.last
    level = max(level, rate.last) if level < 1 else level
    return level * step.seconds / step.calls, max(0.0, step.seconds - _inside(facts))


def _hottest(facts: Facts, *names: str) -> Count | None:
    """The line with most of the eager ops that were looked at; of these names only, if given."""
    lines: dict[tuple[str, int], int] = {}
    for c in facts.counted("eager-op-sample"):
        if c.file and c.late > 0.2 and (not names or c.symbol in names):
            lines[c.file, c.line] = lines.get((c.file, c.line), 0) + c.count
    if not lines:
        return None
    place = max(lines, key=lambda p: lines[p])
    return next(c for c in facts.counted("eager-op-sample") if (c.file, c.line) == place)


def eager_step(facts: Facts) -> list[Finding]:
    ops, seconds = _eager(facts)
    step = facts.step
    if step is None:
        return _eager_without_step(facts)
    if step is None or ops < EAGER_OPS or seconds < 0.5 * step.seconds or facts.steps < 10:
        return []
    each = seconds / step.calls / ops
    # On a busy machine an op takes long to be dispatched, but no more CPU time.
    work = min(each, step.cpu / ops) if math.isfinite(step.cpu) else each
    if work > DISPATCH:
        return []
    line = _hottest(facts)
    place = (line.file, line.line) if line else (step.file, step.line)
    made = finding(
        facts,
        "eager-step",
        place,
        f"A step runs {ops:,.0f} eager ops of {1e6 * each:.0f} µs each: {ms(seconds / step.calls)} of its "
        f"{ms(step.seconds / step.calls)}.",
        seconds,
        weight=0.5,  # a graph runs the same ops, in half the time at best of what was measured
        symbol=step.name,
        remedy="Compile the model without run_eagerly=True." if step.kind == "fit" else "",
        ops_per_step=ops,
        microseconds_per_op=1e6 * each,
        least=0.2,
    )
    return [made] if made else []


def _eager_without_step(facts: Facts) -> list[Finding]:
    """No loop was told apart, but ops run by the thousand, and the main thread is with them."""
    rate, line = facts.gauges.get("eager ops per second"), _hottest(facts)
    inside = sum(c.seconds for c in facts.counted("where") if c.symbol.startswith("tensorflow|"))
    often = 0.5 * rate.largest if rate is not None else 0.0
    if rate is None or line is None or often < 1000 or inside < 0.6 * facts.seconds:
        return []
    made = finding(
        facts,
        "eager-step",
        (line.file, line.line),
        f"Up to {rate.largest:,.0f} eager ops run per second; dispatching them takes "
        f"{100 * facts.share(inside):.0f} % of the time.",
        inside,
        weight=0.5,
        ops_per_second=rate.largest,
        least=0.2,
    )
    return [made] if made else []


def per_sample(facts: Facts) -> list[Finding]:
    return [f for f in (_map_fn(facts), _calls_per_item(facts), _indexing(facts)) if f][:1]


def _map_fn(facts: Facts) -> Finding | None:
    """tf.map_fn in the function that takes most of the time."""
    for used in facts.counted("map-fn"):
        owners = [c for c in facts.of("function", "step") if c.file == used.file and c.line <= used.line]
        owner = max(owners, key=lambda c: c.line, default=None)
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
            symbol="tf.map_fn",
            least=0.2,
            remedy="Write it for the whole batch, or use tf.vectorized_map.",
            calls=owner.calls if owner else 0,
        )
        if made:
            return made
    return None


def _calls_per_item(facts: Facts) -> Finding | None:
    """Many short calls per step, or a call per turn with a batch of one that was cut out of a tensor."""
    steps = max(1, facts.steps)
    cut = {(c.file, c.line) for c in facts.counted("eager-op-sample") if c.symbol == "StridedSlice"}
    pulls = facts.counted("host-sync")
    functions = {(f.file, f.line): f for f in reversed(facts.traced)}
    for call in facts.of("function", "model-call", "predict-on-batch"):
        if call.calls < 100 or call.median > SHORT_CALL or call.is_step:
            continue
        traced = functions.get((call.file, call.line))
        place = (
            (traced.user_file, traced.user_line) if traced and traced.user_file else (call.file, call.line)
        )
        if _decides(pulls, place, call.calls):
            continue
        many = call.calls >= ITEMS_PER_STEP * steps
        ones = bool(traced and re.search(r" \(1,", traced.called_with)) and not facts.training
        if not many and not (ones and any(file == place[0] for file, _ in cut)):
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


def _decides(pulls: list[Count], place: tuple[str, int], calls: int) -> bool:
    """Whether Python needs each result before the next call, as an agent in its world does."""
    return sum(c.count for c in pulls if (c.file, c.line) == place) >= 0.5 * calls


def _indexing(facts: Facts) -> Finding | None:
    """Elements taken out of a tensor one by one by Python."""
    samples = facts.counted("eager-op-sample")
    total = sum(c.count for c in samples)
    slices = [
        c for c in samples if c.symbol in ("StridedSlice", "GatherV2", "Unpack") and c.late > 0.2 and c.file
    ]
    taken = sum(c.count for c in slices)
    step = facts.step
    if step is None or facts.training or facts.steps < 300 or taken < 0.25 * total or total < 100:
        return None
    seconds = max(0.0, step.seconds - _inside(facts))
    if step.median > SHORT_CALL or seconds < 0.6 * step.seconds:
        return None
    worst = slices[0]
    return finding(
        facts,
        "per-sample",
        (worst.file, worst.line),
        f"Elements are taken out of a tensor one by one: {facts.steps:,} turns of {ms(step.median)}.",
        seconds,
        weight=0.9,
        symbol=worst.symbol,
        least=0.2,
        remedy="Use tensor operations on all elements (tf.where, tf.reduce_sum), or call .numpy() once before the loop.",
        slices_share=taken / total,
    )


def predict_loop(facts: Facts) -> list[Finding]:
    """Keras' loops with next to nothing in them, again and again."""
    found = []
    every = facts.of("predict", "evaluate", "fit-call")
    inside = sum(c.seconds for c in facts.of("library-function") if c.file.endswith(_TRAINERS))
    around = 1 - min(1.0, inside / max(sum(c.seconds for c in every), 1e-9))
    for call in every:
        if call.calls < LEAST_PREDICTS or not call.file or around < MOSTLY_AROUND:
            continue
        batches = sum(f.calls for f in facts.of("fit") if (f.file, f.line) == (call.file, call.line))
        if call.median > LONG_PREDICT or (call.kind == "fit-call" and batches > 4 * call.calls):
            continue
        if call.calls < 0.3 * facts.steps and call.calls < 0.3 * facts.turns():
            continue
        name = "fit" if call.kind == "fit-call" else call.kind
        made = finding(
            facts,
            "predict-loop",
            (call.file, call.line),
            f"model.{name} is called {call.calls} times on a small input, {ms(call.median)} each; "
            f"{100 * around:.0f} % of that is not the model, but the dataset and the iterator made for it.",
            call.seconds * around,
            symbol=f"model.{name}",
            calls=call.calls,
            median_ms=1e3 * call.median,
            remedy=_PREDICT_REMEDIES.get(name, ""),
        )
        found += [made] if made else []
    return found


def python_op(facts: Facts) -> list[Finding]:
    """Python that the step itself has to wait for; what runs in a pipeline is input-bound's."""
    ops = [c for c in facts.of("python-op") if c.calls >= 5]
    if not ops:
        return []
    worst = ops[0]
    made = finding(
        facts,
        "python-op",
        (worst.file, worst.line),
        f"{worst.name} runs in the Python interpreter, {worst.calls:,} times, {ms(worst.median)} each: "
        f"{100 * facts.share(worst.seconds):.0f} % of the time.",
        worst.seconds,
        symbol=worst.name,
        least=0.2,
        calls=worst.calls,
        names={"function": worst.name},
    )
    return [made] if made else []


def growing_input(facts: Facts) -> list[Finding]:
    """The step gets slower, in CPU time too, and nothing else that is counted grows."""
    step = facts.step
    if step is None or step.trend is None or step.trend.direction != "rising" or facts.steps < 30:
        return []
    level, change = step.trend.level, step.trend.slope * step.calls
    first, now = max(0.05 * level, level - change / 2), level + change / 2
    made = finding(
        facts,
        "growing-input",
        _growing_line(facts, step),
        f"A step takes {ms(first)} at first and {ms(now)} after {step.calls:,} steps; most of the time is "
        "spent at this line, on data that grow at each step.",
        step.excess,
        symbol=step.name,
        confidence="medium",
        least=0.15,
        percent_per_100=step.trend.percent,
    )
    return [made] if made else []


def _growing_line(facts: Facts, step: Call) -> tuple[str, int]:
    """The line that takes more and more; or where pieces are joined, if that is one of those that do."""
    lines: dict[tuple[str, int], float] = {}
    for c in facts.counted("where"):
        if c.file and not c.symbol.startswith("tracing"):
            lines[c.file, c.line] = lines.get((c.file, c.line), 0.0) + c.growth
    most = max(lines, key=lambda p: lines[p], default=(step.file, step.line))
    joined = _hottest(facts, "ConcatV2", "Pack")
    if joined is not None and lines.get((joined.file, joined.line), 0.0) >= JOINS * lines.get(most, 0.0):
        return joined.file, joined.line
    return most


RULES = (eager_step, per_sample, predict_loop, python_op, growing_input)
