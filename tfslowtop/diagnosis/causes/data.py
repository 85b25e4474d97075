"""Waiting for data, copying between host and device, and what is done beside the step."""

from __future__ import annotations

import math

from ..busy import busy
from ..facts import Facts, StreamFacts, TallyFacts, keras_lines, short
from ..finding import Finding
from ..make import finding, ms, size
from ..texts import FED_WHOLE, WEIGHTS

#: The share of the steps' time that is spent waiting for data. Copying a ready batch takes some percent.
WAITING = 0.3
#: Seconds of steps in which only what is typical of them counts.
WARM_UP = 3.0
#: The part of the waits inside fit that were read, from which on they speak for the others.
READ = 0.2
#: What such a wait may be of the mean step at most: the seconds that were read may be those with most of the waiting.
SPEAKS = 1.5
#: A typical wait is so much less than their mean where a few long ones are all of it.
BURSTS = 0.2
#: Bytes per step, and share of the time, from which on a copy is worth a word.
LARGE = 1 << 20
COPYING = 0.1
#: Seconds per step from which on it is worth a word that Python lists are fed.
LISTS = 2e-3
#: Pulls per step that are more than looking at a loss.
PULLS = 10
#: The methods by which a program asks for them.
ASKS = ("numpy", "__array__", "__float__", "__int__", "__bool__", "__index__", "item", "get_value")
CALLBACKS = 0.2
FED = (
    "Make it an array of the placeholder's type once, before the loop: "
    "x = np.asarray(x, placeholder.dtype.as_numpy_dtype)."
)
#: The share of a run that goes by before its first op begins, while it is fed: a batch that is read once takes less.
FEEDING = 0.25
SAVING = 0.2


def input_bound(facts: Facts) -> list[Finding]:
    step = facts.step
    if step is None or facts.steps < 5:
        return []
    fitting = step.kind == "fit"
    python = [c for c in facts.streams_of("data-python-op", "data-library-python-op") if c.seconds > 0]
    waits = [c for c in facts.streams_of("data-wait") if not fitting or _typical(c, step)]
    if fitting and not python and not _own_datasets(facts):
        return []  # arrays that Keras cuts into batches itself: nothing there is the user's to change
    # Inside fit only some of the waits are read; they stand for all batches.
    # Elsewhere the longest one is left out: the first element of all, for which a buffer has to fill.
    waited = sum(
        c.seconds * max(1.0, step.calls / c.calls) if fitting else c.seconds - c.longest for c in waits
    )
    waited = min(waited, step.seconds)
    if step.seconds < WARM_UP:
        waited = min(waited, sum(c.median * c.calls for c in waits))  # the first element always takes long
    if waited >= WAITING * step.seconds:
        return _waiting(facts, step, waits[0], waited, python)
    # Where too few waits inside fit were read, the Python function that makes the data still is: when it is busy
    # for most of the time, the step has to wait for it, whatever is done in parallel.
    dearest = python[0] if python else None
    if fitting and dearest is not None and dearest.seconds >= 0.6 * step.median * step.calls:
        return _waiting(facts, step, dearest, dearest.seconds, python, weight=0.8)
    return []


def _own_datasets(facts: Facts) -> list[TallyFacts]:
    """Those that the program makes itself; Keras makes its own on the line that calls it."""
    keras = keras_lines(facts)
    return [c for c in facts.tallies_of("dataset") if c.is_users and (c.file, c.line) not in keras]


def _never_kept(facts: Facts) -> TallyFacts | None:
    """The first parallel map, if no dataset of the program's keeps what it makes."""
    own = _own_datasets(facts)
    if any("Cache" in c.symbol or "Snapshot" in c.symbol for c in own):
        return None
    maps = [c for c in own if c.symbol.startswith("_ParallelMap")]
    return min(maps, key=lambda c: c.line, default=None)


def _typical(wait: StreamFacts, step: StreamFacts) -> bool:
    """Whether what was seen of the waiting inside fit speaks for its batches: the first batch of a new model is
    traced, which looks like waiting. A wait is the mean of a second's batches, so means are compared."""
    return wait.calls >= READ * step.calls and wait.median <= SPEAKS * step.seconds / step.calls


def _waiting(
    facts: Facts,
    step: StreamFacts,
    wait: StreamFacts,
    waited: float,
    python: list[StreamFacts],
    weight: float = 1.0,
) -> list[Finding]:
    place, what, remedy, reason = (wait.file, wait.line), "", "", "pipeline"
    one_by_one = ("_MapDataset", "_FlatMapDataset", "_FilterDataset")
    maps = [c for c in _own_datasets(facts) if c.symbol in one_by_one]
    shuffles = [c for c in _own_datasets(facts) if c.symbol == "_ShuffleDataset"]
    if python and python[0].seconds >= 0.3 * waited:
        op = python[0]
        name, seen = op.name, [c for c in facts.tallies_of("where-called-back") if c.file]
        generators = [c for c in maps if c.symbol == "_FlatMapDataset"]  # from_generator makes one
        if op.is_users:
            place = (op.file, op.line)
        elif seen:
            place, name = (seen[0].file, seen[0].line), seen[0].symbol
        elif generators and op.name == "generator_py_func":
            place, name = (generators[0].file, generators[0].line), "the generator"
        what = f" on {name} ({short(place[0])}:{place[1]}), Python code that runs {op.calls:,} times, {ms(op.median)} each"
        remedy = (
            "Prepare the data before, or yield whole batches from arrays, and end the pipeline with "
            ".prefetch(tf.data.AUTOTUNE)."
        )
        reason = "python"
    elif shuffles and wait.median < BURSTS * wait.seconds / wait.calls:
        place, reason = (shuffles[0].file, shuffles[0].line), "shuffle buffer"
        what = " while the shuffle buffer fills, at the beginning of each round: it holds what the pipeline made before it"
        remedy = (
            "Shuffle before the work is done (indices or file names), .cache() what the work makes, or take all rounds "
            "from one iterator over .repeat()."
        )
    elif maps:
        first = min(maps, key=lambda c: c.line)
        place, reason = (first.file, first.line), "serial map"
        what = " on a map that handles one element at a time"
    elif repeated := _never_kept(facts):
        place, reason = (repeated.file, repeated.line), "repeated work"
        what = " on a map whose results no .cache() keeps: they are made anew in each round"
        remedy = "Put .cache() behind the map, before what is random and before .shuffle(); or do less in it."
    made = finding(
        facts,
        "input-bound",
        place,
        f"The step waits {ms(waited / max(1, step.calls))} of {ms(step.seconds / step.calls)} for its "
        f"data{what}.",
        waited,
        weight=weight,
        symbol=wait.name if reason == "python" else "tf.data",
        remedy=remedy,
        least=0.2,
        waited_share=waited / step.seconds,
        waits_for=reason,
    )
    return [made] if made else []


def host(facts: Facts) -> list[Finding]:
    """Copies that are large, or so many that they are the step."""
    steps = max(1, facts.steps)
    found = _weights(facts)
    told = {(c.file, c.line) for c in moved(facts)[0]} if found else set()
    for c in facts.tallies_of("host-copy"):
        if (c.file, c.line) in told:
            continue
        fed = c.symbol == "feed_dict"
        lists = fed and not c.size and c.seconds / steps >= LISTS  # their size in bytes is not known
        if (c.size / steps >= LARGE or lists) and c.late > 0.2 and c.file:
            what = size(c.size / steps) if c.size else "Python lists"
            done = "fed in another type than the placeholder's and converted" if fed else "copied"
            made = finding(
                facts,
                "host-copy",
                (c.file, c.line),
                f"{what} are {done} for TensorFlow at each step, {ms(c.seconds / steps)}.",
                max(c.seconds, 0.0),
                symbol=c.symbol,
                remedy=FED if fed else "",
                bytes_per_step=c.size / steps,
                least=COPYING,
            )
            found += [made] if made else []
    for c in facts.tallies_of("host-sync"):
        if (c.file, c.line) in told:
            continue
        many, large = c.count >= PULLS * steps, c.size / steps >= 4 * LARGE
        if (many or large) and c.late > 0.2 and c.file:
            what = f"{c.count / steps:.0f} results" if many else size(c.size / steps)
            taken = max(c.seconds, _asking(facts, c))
            made = finding(
                facts,
                "host-sync",
                (c.file, c.line),
                f"{what} are pulled to the host at each step, {ms(taken / steps)}.",
                taken,
                pulls_per_step=c.count / steps,
                bytes_per_step=c.size / steps,
                least=COPYING,
            )
            found += [made] if made else []
    return found


def feeding(facts: Facts) -> list[Finding]:
    """Large arrays that are copied into each run of a Session: some runs were traced to see what that takes."""
    found = []
    for c in facts.tallies_of("run-trace"):
        runs = [r for r in facts.streams_of("session-run") if (r.file, r.line) == (c.file, c.line)]
        if c.symbol != "feeding" or not runs or runs[0].calls < 5:
            continue
        converted = sum(
            h.seconds
            for h in facts.tallies_of("host-copy")
            if (h.symbol, h.file, h.line) == ("feed_dict", c.file, c.line)
        )
        each = min(c.seconds / c.count - converted / runs[0].calls, runs[0].median)  # that is told by itself
        if each < FEEDING * runs[0].median:
            continue
        made = finding(
            facts,
            "host-copy",
            (c.file, c.line),
            f"{size(c.size / c.count)} are copied into each run at this line: {ms(each)} of its {ms(runs[0].median)} go by "
            f"before the first op begins, as {c.count} traced runs show.",
            each * runs[0].calls,
            symbol="feed_dict",
            text=FED_WHOLE,
            bytes_per_step=c.size / c.count,
            least=COPYING,
        )
        found += [made] if made else []
    return found


def _asking(facts: Facts, pulled: TallyFacts) -> float:
    """Seconds in which the line that pulls was seen to ask for arrays: a variable's is read first."""
    there = (c for c in facts.tallies_of("where") if (c.file, c.line) == (pulled.file, pulled.line))
    return sum(c.seconds for c in there if busy(c).callee in ASKS)


def moved(facts: Facts) -> tuple[list[TallyFacts], float]:
    """Looks at lines of the program's that have all weights of a model as arrays, and how many bytes per step they
    move; none where that is little."""
    there = [
        c
        for c in facts.tallies_of("where")
        if c.late > 0.2 and c.is_users and busy(c).callee in ("get_weights", "set_weights")
    ]
    lines = {(c.file, c.line) for c in there}
    copies = (c for c in facts.tallies_of("host-sync", "host-copy") if (c.file, c.line) in lines)
    per_step = sum(c.size for c in copies) / max(1, facts.steps)
    return (there, per_step) if per_step >= LARGE else ([], 0.0)


def _weights(facts: Facts) -> list[Finding]:
    """All weights of a model as arrays, at each step."""
    there, per_step = moved(facts)
    if not there:
        return []
    # Looks at lines are no clock: what functions have taken was not taken there.
    steps, step = max(1, facts.steps), facts.step
    rest = (
        step.seconds - sum(c.seconds for c in facts.streams_of("function", "session-run"))
        if step
        else math.inf
    )
    seconds = max(0.0, min(sum(c.seconds for c in there), rest))
    worst = max(there, key=lambda c: (busy(c).callee == "get_weights", c.seconds))  # they are pulled first
    name = busy(worst).callee
    made = finding(
        facts,
        "host-copy" if name == "set_weights" else "host-sync",
        (worst.file, worst.line),
        f"Weights go through arrays on the host, {size(per_step)} per step: {ms(seconds / steps)} in "
        f"{' and '.join(sorted({busy(c).callee for c in there}))}.",
        seconds,
        at_most=True,  # assigning them takes something, too
        symbol=name,
        text=WEIGHTS,
        least=COPYING,
        bytes_per_step=per_step,
    )
    return [made] if made else []


def callbacks(facts: Facts) -> list[Finding]:
    """A callback of the user's, or Keras' own that writes; and saving in a loop of one's own."""
    found = []
    fits = facts.streams_of("fit-call") or facts.streams_of(
        "fit"
    )  # the call is known when it is over, its batches before
    every = [c for c in facts.tallies_of("callback") if c.seconds > 0]
    if fits and every:
        worst = max(every, key=lambda c: c.seconds)
        place = (worst.file, worst.line) if worst.is_users else (fits[0].file, fits[0].line)
        made = finding(
            facts,
            "callback-heavy",
            place,
            f"{worst.symbol} takes {worst.seconds:.1f} s in {worst.count:,} calls: "
            f"{100 * worst.seconds / max(fits[0].seconds, 1e-9):.0f} % of the time in fit.",
            worst.seconds,
            symbol=worst.symbol,
            calls=worst.count,
            least=CALLBACKS,
        )
        found += [made] if made and worst.count >= 3 else []
    for c in facts.tallies_of("save", "flush"):
        if any(f.file == c.file and f.line <= c.line and c.seconds <= f.cost_seconds for f in found):
            continue  # that is what the callback does
        if c.count >= 5 and c.count >= 0.3 * facts.steps and c.is_users:
            made = finding(
                facts,
                "callback-heavy",
                (c.file, c.line),
                f"{c.symbol} is called at this line {c.count} times in {facts.steps} steps, "
                f"{ms(c.seconds / c.count)} each.",
                c.seconds,
                symbol=c.symbol,
                calls=c.count,
                least=SAVING,
                remedy="Save every thousand steps or every few minutes.",
            )
            found += [made] if made else []
    return found


def summaries(facts: Facts) -> list[Finding]:
    """Summaries that a Session computes at each step: in a run of their own, or within another."""
    alone = {(c.file, c.line) for c in facts.tallies_of("summaries")}
    for call in facts.streams_of("session-run"):
        place = (call.file, call.line)
        share, traced = _part_of_run(facts, place)
        if place in alone:
            each = call.median
            what = f"are computed at this line {call.calls} times in {facts.steps} steps, {ms(each)} each"
        else:
            each = share * call.median
            what = f"take {ms(each)} of the {ms(call.median)} of a run at this line, as {traced} traced runs show"
        if not each or call.calls < max(5, 0.3 * facts.steps):
            continue
        made = finding(
            facts,
            "callback-heavy",
            place,
            f"Summaries {what}.",
            each * call.calls,
            symbol="Session.run",
            calls=call.calls,
            least=SAVING,
            remedy="Compute and write them every hundred steps.",
        )
        if made:
            return [made]
    return []


def _part_of_run(facts: Facts, place: tuple[str, int]) -> tuple[float, int]:
    """The summaries' part of what the ops of a run take at a line, over runs with and without; how many were traced."""
    seen = {c.symbol: c for c in facts.tallies_of("run-trace") if (c.file, c.line) == place}
    told, others, without = (seen.get(name) for name in ("summaries", "others", "without"))
    if told is None or others is None or not told.seconds:
        return 0.0, 0
    runs = told.count + (without.count if without else 0)
    return told.seconds / (told.seconds + others.seconds) * told.count / runs, told.count


RULES = (input_bound, host, feeding, callbacks, summaries)
