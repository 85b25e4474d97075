"""How the step spends its time: eager ops, predict in a loop, Python ops."""

from __future__ import annotations

import math

from ..facts import Facts, StreamFacts, TallyFacts
from ..finding import Finding
from ..make import finding, ms
from ..texts import SWITCHED
from .data import moved

#: Eager ops per step from which on their dispatch is worth a graph; a small regression by hand has 20 to 30.
EAGER_OPS = 60
#: Rounds of a loop, and turns of the loop in it per round.
LEAST_ROUNDS = 5
#: An op that takes longer than this is computing, not being dispatched (10 to 60 µs): a graph gains little.
DISPATCH = 400e-6
#: predict and fit have a fixed price of 20 to 100 ms, ten times that on a busy machine. Above this much, or
#: with more than a third of it in the model's own function, they do real work.
LONG_PREDICT = 1.5
MOSTLY_AROUND = 0.67
LEAST_PREDICTS = 10
#: The share of the ops that one line of the loop calls, from which on it is that line.
MOST_OPS = 0.6
#: Where Keras keeps the functions that run a batch.
_TRAINERS = ("trainer.py", "training.py")
_PREDICT_REMEDIES = {"fit": "Use model.train_on_batch(x, y), or collect the samples and call fit once."}

_WORK = ("function", "session-run", "predict", "evaluate", "fit-call", "predict-on-batch", "train-on-batch")


def inside(facts: Facts) -> float:
    """Seconds of the step in calls that are not eager ops."""
    # The call of fit is all of its steps; what they do as a graph is in a function of Keras' own.
    fitting = facts.step is not None and facts.step.kind == "fit"
    work = {*_WORK, "library-function"} - {"fit-call"} if fitting else {*_WORK}
    if _switched(facts):
        work -= {"function", "library-function"}
    return sum(c.seconds for c in facts.streams_of(*work, "data-wait"))


def _switched(facts: Facts) -> bool:
    """Whether tf.config.run_functions_eagerly is on: what a tf.function does is eager ops then."""
    return "functions run eagerly" in facts.gauges


def eager(facts: Facts) -> tuple[float, float]:
    """Eager ops per step, and seconds of the steps outside of functions."""
    rate = facts.gauges.get("eager ops per second")
    step = facts.step
    if rate is None or step is None or not step.calls or rate.trend is None:
        return 0.0, 0.0
    level = rate.trend.level if math.isfinite(rate.trend.level) else rate.last
    level = max(level, rate.last) if level < 1 else level
    return level * step.seconds / step.calls, max(0.0, step.seconds - inside(facts))


def hottest(facts: Facts, *names: str) -> TallyFacts | None:
    """The line with most of the eager ops that were looked at; of these names only, if given."""
    lines: dict[tuple[str, int], int] = {}
    for c in facts.tallies_of("eager-op-sample"):
        if c.file and c.late > 0.2 and (not names or c.symbol in names):
            lines[c.file, c.line] = lines.get((c.file, c.line), 0) + c.count
    if not lines:
        return None
    place = max(lines, key=lambda p: lines[p])
    return next(c for c in facts.tallies_of("eager-op-sample") if (c.file, c.line) == place)


def _at(count: TallyFacts | None) -> tuple[str, int] | None:
    return (count.file, count.line) if count else None


def _called_from(facts: Facts, step: StreamFacts) -> tuple[str, int] | None:
    """The line of the step's own loop from which most of the ops are called: what it calls is the function to
    compile, whatever that calls in turn."""
    turns = [c for c in facts.tallies_of("eager-op-turn") if (c.symbol, c.file) == (step.name, step.file)]
    every = sum(c.count for c in facts.tallies_of("eager-op-sample"))
    most = turns[0] if turns and turns[0].line >= step.line else None
    return _at(most) if most and most.count >= MOST_OPS * every else None


def eager_step(facts: Facts) -> list[Finding]:
    ops, seconds = eager(facts)
    step = facts.step
    if step is None:
        return _eager_without_step(facts)
    # Weights that go through arrays are read and written one by one: that is told as what it is.
    weights = sum(c.seconds for c in moved(facts)[0])
    if seconds < 0.5 * step.seconds or facts.steps < 10 or weights >= 0.5 * seconds:
        return []
    each = seconds / step.calls / max(ops, 1e-9)
    turn = step if ops >= EAGER_OPS else _round(facts, step, ops)
    # On a busy machine an op takes long to be dispatched, but no more CPU time.
    work = min(each, step.cpu / ops) if math.isfinite(step.cpu) and ops else each
    if turn is None or work > DISPATCH:
        return []
    ops *= step.calls / turn.calls
    place = _called_from(facts, step) or _at(hottest(facts)) or (step.file, step.line)
    what = "A step" if turn is step else f"A turn of the loop at line {turn.line}"
    made = finding(
        facts,
        "eager-step",
        place,
        f"{what} runs {ops:,.0f} eager ops of {1e6 * each:.0f} µs each: {ms(seconds / turn.calls)} of its "
        f"{ms(turn.seconds / turn.calls)}.",
        seconds,
        weight=0.5,  # a graph runs the same ops, in half the time at best of what was measured
        symbol=step.name,
        remedy="Compile the model without run_eagerly=True." if step.kind == "fit" else "",
        text=SWITCHED if _switched(facts) else None,
        ops_per_step=ops,
        microseconds_per_op=1e6 * each,
        least=0.2,
    )
    return [made] if made else []


def _round(facts: Facts, step: StreamFacts, ops: float) -> StreamFacts | None:
    """Where the step is a loop of few ops that goes round and round inside another one, the turn of that one:
    a simulation of some hundred moments. Training with few ops is as it should be."""
    turn = around(facts, step)
    if turn is None or facts.training or ops * step.calls / turn.calls < EAGER_OPS:
        return None
    return turn


def around(facts: Facts, step: StreamFacts) -> StreamFacts | None:
    """The loop around the step that has several steps in each of its turns."""
    loops = [
        c
        for c in facts.streams_of("loop")
        if c.seconds >= 0.9 * step.seconds and LEAST_ROUNDS <= c.calls <= step.calls / LEAST_ROUNDS
    ]
    return max(loops, key=lambda c: c.calls, default=None)


def _eager_without_step(facts: Facts) -> list[Finding]:
    """No loop was told apart, but ops run by the thousand, and the main thread is with them."""
    rate, line = facts.gauges.get("eager ops per second"), hottest(facts)
    inside = sum(c.seconds for c in facts.tallies_of("where") if c.package == "tensorflow")
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


def predict_loop(facts: Facts) -> list[Finding]:
    """Keras' loops with next to nothing in them, again and again."""
    found = []
    every = facts.streams_of("predict", "evaluate", "fit-call")
    inside = sum(c.seconds for c in facts.streams_of("library-function") if c.file.endswith(_TRAINERS))
    around = 1 - min(1.0, inside / max(sum(c.seconds for c in every), 1e-9))
    for call in every:
        if call.calls < LEAST_PREDICTS or not call.file or around < MOSTLY_AROUND:
            continue
        batches = sum(f.calls for f in facts.streams_of("fit") if (f.file, f.line) == (call.file, call.line))
        if call.median > LONG_PREDICT or (call.kind == "fit-call" and batches > 4 * call.calls):
            continue
        if call.calls < 0.3 * facts.steps and call.calls < 0.3 * facts.most_iterations():
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
    ops = [c for c in facts.streams_of("python-op") if c.calls >= 5]
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


RULES = (eager_step, predict_loop, python_op)
