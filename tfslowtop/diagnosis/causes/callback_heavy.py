"""callback-heavy: callbacks, checkpoints, summaries or logs hold up the step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...agent.protocol.names import (
    RUN_OTHER_OPS,
    RUN_PLAIN,
    RUN_SUMMARIES,
    STREAM_EVALUATE,
    STREAM_FIT,
    STREAM_FIT_CALL,
    STREAM_PREDICT,
    STREAM_SESSION_RUN,
    TALLY_CALLBACK,
    TALLY_FLUSH,
    TALLY_RUN_TRACE,
    TALLY_SAVE,
    TALLY_SUMMARIES,
)
from ..busy import loggers, seen, sightings
from ..cause import Area, Cause, Detector
from ..facts import Facts, Site, StreamFacts
from ..finding import Finding
from ..make import LARGE_SHARE, finding, ms
from ..names import CALLBACK_HEAVY, GROWING_INPUT
from ..rewriting.statement import Change, Statement, called_name, indented
from .validation_heavy import LARGER_PART

#: Calls of a callback, and saves or summaries, before they are a habit.
LEAST_CALLS = 3
LEAST_SAVES = 5
#: Saves or summaries per step: one every few minutes is as it should be.
SAVES_PER_STEP = 0.3
#: Steps from which on sightings are enough to judge by, and the share of the step that is spent writing.
LEAST_STEPS = 10
WRITING = 0.2


def do_rarely(statement: Statement, found: Finding) -> Change | None:
    """Do it at every hundredth iteration, where the loop counts them."""
    loop = statement.loop
    target = getattr(loop, "target", None)
    counts = isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and called_name(loop.iter)
    if counts == "enumerate" and isinstance(target, ast.Tuple):
        target = target.elts[0]
    if counts not in ("range", "enumerate") or not isinstance(target, ast.Name):
        return None
    text = statement.edited()
    return Change(text, f"if {target.id} % 100 == 0:\n{indented(text)}")


CAUSE = Cause(
    id=CALLBACK_HEAVY,
    area=Area.HOST,
    headline="Callbacks, checkpoints or logs hold up the step",
    mechanism="The step waits for every callback, checkpoint, summary or log entry that is written along with it.",
    advice="Do this work every hundred batches, or at the end of the epoch.",
    before="def on_train_batch_end(self, batch, logs=None):\n    save()",
    after="def on_train_batch_end(self, batch, logs=None):\n    if batch % 100 == 0:\n        save()",
    scenario=None,
    explained_by=(GROWING_INPUT,),
    change=do_rarely,
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    callback = _callback(facts)
    yield callback
    yield from _saves(facts, callback)
    yield _summaries(facts)
    yield _writing(facts)


def _callback(facts: Facts) -> Finding | None:
    """Report a callback, of the user or of Keras, that takes much of the time in fit."""
    # The call is known only when it is over.
    fits = facts.streams_of(STREAM_FIT_CALL) or facts.streams_of(STREAM_FIT)
    every = [c for c in facts.tallies_of(TALLY_CALLBACK) if c.seconds > 0]
    if not fits or not every:
        return None
    worst = max(every, key=lambda c: c.seconds)
    evaluates = sum(
        c.seconds
        for c in facts.streams_of(STREAM_EVALUATE, STREAM_PREDICT)
        if c.file == worst.file and c.line >= worst.line
    )
    if worst.count < LEAST_CALLS or facts.share(evaluates) >= LARGER_PART:
        return None  # what takes that long is validation-heavy
    return finding(
        facts,
        CAUSE,
        worst.site if worst.is_users else fits[0].site,
        f"{worst.symbol} takes {worst.seconds:.1f} s in {worst.count:,} calls: "
        f"{100 * worst.seconds / max(fits[0].seconds, 1e-9):.0f} % of the time in fit.",
        worst.seconds,
        symbol=worst.symbol,
        calls=worst.count,
        least=LARGE_SHARE,
    )


def _saves(facts: Facts, callback: Finding | None) -> Iterator[Finding | None]:
    """Report lines that save or flush at every few steps, other than those of the callback."""
    reported = [callback] if callback else []
    for save in facts.tallies_of(TALLY_SAVE, TALLY_FLUSH):
        if any(
            f.file == save.file and f.line <= save.line and save.seconds <= f.cost_seconds for f in reported
        ):
            continue
        if save.count < max(LEAST_SAVES, SAVES_PER_STEP * facts.steps) or not save.is_users:
            continue
        found = finding(
            facts,
            CAUSE,
            save.site,
            f"{save.symbol} is called at this line {save.count} times in {facts.steps} steps, "
            f"{ms(save.seconds / save.count)} each.",
            save.seconds,
            symbol=save.symbol,
            calls=save.count,
            least=LARGE_SHARE,
            advice="Save every thousand steps, or every few minutes.",
        )
        reported += [found] if found else []
        yield found


def _summaries(facts: Facts) -> Finding | None:
    """Report summaries that a Session computes at each step, in a run of their own or within another one."""
    separate = {c.site for c in facts.tallies_of(TALLY_SUMMARIES)}
    for run in facts.streams_of(STREAM_SESSION_RUN):
        share, traced = _share_of_run(facts, run.site)
        if run.site in separate:
            each = run.median
            what = f"are computed at this line {run.calls} times in {facts.steps} steps, {ms(each)} each"
        else:
            each = share * run.median
            what = (
                f"take {ms(each)} of the {ms(run.median)} of a run at this line, as {traced} traced runs show"
            )
        if not each or run.calls < max(LEAST_SAVES, SAVES_PER_STEP * facts.steps):
            continue
        found = finding(
            facts,
            CAUSE,
            run.site,
            f"Summaries {what}.",
            each * run.calls,
            symbol="Session.run",
            calls=run.calls,
            least=LARGE_SHARE,
            advice="Compute and write them every hundred steps.",
        )
        if found:
            return found
    return None


def _share_of_run(facts: Facts, site: Site) -> tuple[float, int]:
    """Return the summaries' share of the ops' time at a line, over all runs, and how many runs with them were traced."""
    traced = {c.symbol: c for c in facts.tallies_of(TALLY_RUN_TRACE) if c.site == site}
    summaries, others, without = (traced.get(name) for name in (RUN_SUMMARIES, RUN_OTHER_OPS, RUN_PLAIN))
    if summaries is None or others is None or not summaries.seconds:
        return 0.0, 0
    runs = summaries.count + (without.count if without else 0)
    share = summaries.seconds / (summaries.seconds + others.seconds)
    return share * summaries.count / runs, summaries.count


def _writing(facts: Facts) -> Finding | None:
    """Report logs, pictures and files that the loop itself writes."""
    step = facts.step
    if step is None or facts.steps < LEAST_STEPS:
        return None
    lines, taken = seen(facts, lambda b: b.writes), _seconds_writing(facts)
    if not lines or taken < WRITING * step.seconds:
        return None
    return _written(facts, step, lines, taken)


def _seconds_writing(facts: Facts) -> float:
    """Return the seconds at lines that write, and in functions that exist to write."""
    functions = loggers(facts)
    elsewhere = sum(
        c.seconds for c, b in sightings(facts) if b.writes and (c.file, b.function) not in functions
    )
    return elsewhere + sum(functions.values())


def _written(facts: Facts, step: StreamFacts, lines: dict[Site, float], taken: float) -> Finding | None:
    site, most = next(iter(lines.items()))
    return finding(
        facts,
        CAUSE,
        site,
        f"Writing logs and files in the loop, and computing what they contain, takes {ms(taken / step.calls)} of the "
        f"{ms(step.seconds / step.calls)} of a step; this line alone takes {ms(most / step.calls)}.",
        min(taken, step.seconds),
        symbol="writing",
        least=WRITING,
        advice="Write every hundred steps, or collect the entries and write them at the end.",
        lines=len(lines),
    )


DETECTOR = Detector(detect, (CAUSE,))
