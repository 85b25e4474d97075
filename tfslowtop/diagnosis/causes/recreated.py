"""What is built, compiled, loaded again at every turn: models, optimizers, variables, datasets."""

from __future__ import annotations

from ..busy import busy
from ..facts import Facts, TallyFacts, keras_lines
from ..finding import Finding
from ..make import LEAST_SHARE, finding, ms, per_step

#: Created for at least every third turn of the step, and so often: three models of a grid search, or an
#: iterator per epoch, are as they should be.
PER_STEP = 0.3
LEAST = 6
#: What is created less often than that, for each round of a loop around the steps, is told when it takes much of
#: the time: a model per fold or a dataset per epoch is well spent when much is done with it.
PER_ROUND = 0.02
MUCH_OF_A_ROUND = 0.4
#: Steps, and seconds of them, of which the first is only a part.
FEW = 8
LONG = 3.0


def _again(facts: Facts, *what: str, per_step: float = PER_STEP) -> list[TallyFacts]:
    """Lines that go on creating while the steps go by."""
    least = max(LEAST, per_step * facts.steps)
    saving = {(c.file, c.line) for c in facts.tallies_of("save")}  # Keras makes objects to compare with
    lines = [
        c
        for c in facts.tallies_of(*what)
        if c.count >= least and c.late > 0.2 and c.file and (c.file, c.line) not in saving
    ]
    return sorted(lines, key=lambda c: -c.seconds)


def models(facts: Facts) -> list[Finding]:
    """Also compiled or loaded again, which makes its functions new."""
    whats = ("load", "model", "compile")
    rarely = not _again(facts, *whats)
    often = PER_ROUND if rarely else PER_STEP
    built = next((lines for what in whats if (lines := _again(facts, what, per_step=often))), [])
    if not built:
        return []
    worst = built[0]
    retraced = sum(
        f.avoidable_seconds + (f.seconds if f.instances >= LEAST else 0.0)
        for f in facts.functions
        if f.library or f.instances >= LEAST
    )
    building = max(sum(facts.at_line(c.file, c.line) for c in built), _makers(facts, built))
    # Who makes models again and again clears what is left of them as often.
    cleared = sum(
        c.seconds for c in facts.tallies_of("gc-pause") if c.symbol == "clear_session" and c.late > 0.2
    )
    calls = [c for c in facts.streams_of("fit-call", "predict", "evaluate") if c.calls <= 2 * worst.count]
    # What a new model makes anew: itself, its variables, its functions; the first call of fit or predict.
    called = sum(c.seconds for c in calls)
    cost = max(building, sum(c.seconds for c in built)) + max(retraced, called) + cleared
    verb = {"load": "loaded", "compile": "compiled"}.get(worst.what, "built")
    name = "The model" if worst.what != "model" else f"The model ({worst.symbol})"
    made = finding(
        facts,
        "model-recreated",
        (worst.file, worst.line),
        f"{name} is {verb} again at this line, {worst.count} times in {facts.steps} steps, "
        f"{ms(cost / worst.count)} each time.",
        cost,
        weight=0.85 if called > retraced else 1.0,  # some of those calls is work that has to be done
        symbol=worst.symbol,
        since=worst.since,
        created=worst.count,
        what=worst.what,
        least=MUCH_OF_A_ROUND if rarely else LEAST_SHARE,
    )
    return [made] if made else []


def _makers(facts: Facts, built: list[TallyFacts]) -> float:
    """Seconds in the functions of the program's in which the models are made."""
    lines = {(c.file, c.line) for c in built if c.what == "model"}
    seen = [(c, busy(c).function) for c in facts.tallies_of("where") if c.late > 0.1]
    functions = {(c.file, first) for c, first in seen if first and (c.file, c.line) in lines}
    return sum(c.seconds for c, first in seen if (c.file, first) in functions)


def optimizers(facts: Facts) -> list[Finding]:
    lines = _again(facts, "optimizer")
    if not lines:
        return []
    worst = lines[0]
    slots = sum(c.seconds for c in _again(facts, "variable"))
    cost = worst.seconds + slots
    made = finding(
        facts,
        "optimizer-recreated",
        (worst.file, worst.line),
        f"{worst.symbol} is created again at this line, {worst.count} times in {facts.steps} steps, with all "
        f"its slot variables, {ms(cost / worst.count)} each time.",
        cost,
        symbol=worst.symbol,
        since=worst.since,
        created=worst.count,
    )
    return [made] if made else []


def variables(facts: Facts) -> list[Finding]:
    if facts.step is None or facts.steps < FEW or facts.step.seconds < LONG:
        return []  # an optimizer makes its slots in its first step, which may be a long one
    lines = [c for c in _again(facts, "variable") if (c.file, c.line) not in keras_lines(facts)]
    if not lines:
        return []
    worst = lines[0]
    line = facts.at_line(worst.file, worst.line)
    cost = max(worst.seconds, line)
    made = finding(
        facts,
        "variable-recreated",
        (worst.file, worst.line),
        f"tf.Variable is created again at this line, {per_step(worst.count, facts.steps)} per step, "
        f"{worst.count:,} in all, {ms(cost / worst.count)} each.",
        cost,
        weight=0.8 if line > worst.seconds else 1.0,  # the line does more than create
        symbol="tf.Variable",
        since=worst.since,
        created=worst.count,
    )
    return [made] if made else []


#: To cut a pass out of a dataset is no building.
_CUTS = ("_TakeDataset", "_SkipDataset", "_RepeatDataset")


def _there(facts: Facts, file: str, line: int) -> float:
    """Seconds at a line, without the waiting for elements of a loop that begins there."""
    waited = sum(c.seconds for c in facts.streams_of("data-wait") if (c.file, c.line) == (file, line))
    return max(0.0, facts.at_line(file, line) - waited)


def datasets(facts: Facts) -> list[Finding]:
    if facts.steps < LEAST:
        return []  # of a loop that makes one for training, one for validation and one for tests
    keras = keras_lines(facts)
    rarely = not _again(facts, "dataset", "iterator")
    often = PER_ROUND if rarely else PER_STEP
    made_lines = [
        c
        for c in _again(facts, "dataset", per_step=often)
        if (c.file, c.line) not in keras and not (rarely and c.symbol in _CUTS)
    ]
    started = [c for c in _again(facts, "iterator", per_step=often) if (c.file, c.line) not in keras]
    if not made_lines and (rarely or not started):
        return []
    # Of a round's waiting only a part is for its first element.
    waits = sum(
        c.seconds
        for c in facts.streams_of("data-wait")
        if not rarely and any(c.file == i.file and abs(c.line - i.line) <= 2 for i in started)
    )
    tracing = sum(
        f.seconds for f in facts.functions if f.function.startswith("Dataset_") and f.count >= LEAST
    )
    building = sum(_there(facts, *place) for place in {(c.file, c.line) for c in made_lines})
    built = max(sum(c.seconds for c in made_lines), building)
    cost = built + sum(c.seconds for c in started) + waits + tracing
    lines = sorted(made_lines, key=lambda c: c.line) or started
    worst = lines[0]
    what = "The dataset is built" if made_lines else "An iterator over the dataset is made"
    count = max(c.count for c in started or made_lines)
    made = finding(
        facts,
        "dataset-recreated",
        (worst.file, worst.line),
        f"{what} again at this line, {count} times in {facts.steps} steps; each begins with empty buffers and "
        f"takes {ms(cost / count)} to its first element.",
        cost,
        at_most=True,
        symbol=worst.symbol.strip("_"),
        since=worst.since,
        created=count,
        least=0.15,
    )
    return [made] if made else []


RULES = (models, optimizers, variables, datasets)
