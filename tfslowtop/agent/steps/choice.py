"""Chooses the stream that a person would call the step.

A training step is the smallest loop whose iteration has a forward pass, a gradient and an update of the
model. A loop over micro-batches (gradients only) or over layers (updates only) is therefore part of a step,
and the loop around it that adds the missing parts is the step. Where nothing is trained, the step is the
innermost loop that does the work, unless that loop only goes through the parts of one piece of work: it calls
other functions at every iteration, or it runs a few iterations each time inside a loop that does something
else as well and iterates more often. The batches of Keras' fit count as iterations of a loop.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..code.source_lines import source_line
from ..protocol.names import (
    STREAM_EVALUATE,
    STREAM_FIT,
    STREAM_FIT_CALL,
    STREAM_FUNCTION,
    STREAM_LOOP,
    STREAM_MARKED,
    STREAM_MODEL_CALL,
    STREAM_PREDICT,
    STREAM_PREDICT_ON_BATCH,
    STREAM_SESSION_RUN,
    STREAM_TRAIN_ON_BATCH,
)
from .streams import ASSIGN, CALL, COMMIT, GRADIENT, HOST, KERAS, OP, RUN, TAPE, TRAINS, UPDATE, Stream

_WORK = UPDATE | CALL | RUN | KERAS | HOST | OP

#: Iterations before a loop is considered at all.
ENOUGH = 3
#: A share of iterations that means "usually".
_USUALLY = 0.5
#: A share of iterations that means "sometimes, but as part of it": an optimizer applied at every 32nd batch.
_AT_TIMES = 0.02
#: Up to so many iterations per iteration of the outer loop may be its parts.
_HANDFUL = 8
#: A fit of so few batches is itself one piece of the work of the loop around it.
_TINY_FIT = 2
#: Of two nested loops, the outer one takes over once it has this share of the inner one's time: its current
#: iteration is not counted yet.
_NEARLY = 0.75
#: The share of a loop's time outside its longest iteration, below which a trace distorts the comparison.
_RATHER = 0.5
#: Training is the step unless it takes a negligible share of the other loop's time, or ended long ago: the
#: other loop has since run for this many times the training's own time.
_TRIFLE = 0.1
_LONG_AGO = 2
#: Nested loops that are followed outwards.
_MOST_NESTED = 20
#: An inner loop is in step with the outer one from this share of one iteration each: some may be skipped.
_IN_STEP = 0.8

_EPOCHS = re.compile(r"epoch|episode|round|repeat|trial|fold|phase", re.I)
_PARTS = re.compile(r"layer|micro|accum|head|weight|param|grad|\bvars?\b|variable|slot|critic|replica", re.I)
_STEPS = re.compile(r"step|batch|iter|frame|request|image|example", re.I)


class Choice(NamedTuple):
    stream: Stream
    why: str
    """For the screen; nothing is decided by it."""
    trains: bool


def choose(loops: list[Stream], calls: list[Stream]) -> Choice | None:
    """Choose the step among the loops or, if there is none, among the calls."""
    own = [loop for loop in loops if loop.kind == STREAM_MARKED and loop.count]
    if own:
        return Choice(own[-1], "marked in the program", trains(own[-1], loops))
    training, working = _candidates(loops)
    if training is not None:
        if training.kind == STREAM_FIT:
            return Choice(training, "the batches of fit", True)
        return Choice(training, "the smallest loop that computes a gradient and updates the model", True)
    if working is not None:
        return Choice(working, "the loop that does the work", False)
    called = _heaviest({call for call in calls if call.count >= ENOUGH and call.kind in _CALLED})
    if called is None:
        return None
    return Choice(called, "the call that takes most of the time; no loop was seen", False)


def trains(step: Stream, loops: list[Stream]) -> bool:
    """Decide whether a step that somebody else chose trains a model, or is part of training.

    What a marked step and most calls do is unknown: then, whether the program is training now.
    """
    if step.kind in _TRAIN or step.bits & TRAINS:
        return True
    if step.kind in _CALLED and step.kind != STREAM_FUNCTION:
        return False
    if step.masks:
        return _complete(step) or (_updates(step) and _whole_update(step) is not None)
    return _candidates(loops)[0] is not None


def _candidates(loops: list[Stream]) -> tuple[Stream | None, Stream | None]:
    """Find the loop that trains, unless the program has moved on, and the loop that does the work."""
    alive = [loop for loop in loops if loop.count >= ENOUGH and loop.kind != STREAM_MARKED]
    alive = [loop for loop in alive if loop.main] or alive
    training = _heaviest({_whole_update(loop) for loop in alive if _updates(loop)} - {None})
    working = _heaviest({_whole_work(loop, alive) for loop in alive if _works(loop)})
    if training is not None and working is not None and _is_superseded(training, working):
        training = None
    return training, working


_TRAIN = (STREAM_FIT, STREAM_FIT_CALL, STREAM_TRAIN_ON_BATCH)
_CALLED = (
    STREAM_FUNCTION,
    STREAM_SESSION_RUN,
    STREAM_PREDICT,
    STREAM_TRAIN_ON_BATCH,
    STREAM_MODEL_CALL,
    STREAM_EVALUATE,
    STREAM_PREDICT_ON_BATCH,
)


def _is_superseded(training: Stream, working: Stream) -> bool:
    """Decide whether the program has moved on: a model trained within a minute may serve for hours."""
    took = _usual(training)
    since = min(working.last - training.last, _usual(working))
    return took <= _TRIFLE * _usual(working) or since > _LONG_AGO * took


def _wall(loop: Stream) -> int:
    return loop.buffer.total_wall()


def _usual(loop: Stream) -> int:
    """Return the time of a loop, without its longest iteration if it was entered once: a function was traced
    in it."""
    return _wall(loop) - (loop.buffer.longest if loop.entries <= 1 else 0)


def _heaviest(loops: set[Stream | None] | set[Stream]) -> Stream | None:
    found = [loop for loop in loops if loop is not None]
    if not found:
        return None
    best = max(found, key=lambda loop: (_wall(loop), loop.line))
    if _usual(best) < _RATHER * _wall(best):  # one iteration is most of it: a function was traced
        best = max(found, key=lambda loop: (_usual(loop), loop.line))
    outer = best.outer
    for _ in range(_MOST_NESTED):
        if outer is None:
            break
        if outer in found and _wall(outer) >= _NEARLY * _wall(best):
            best = outer  # its current iteration is not counted yet; when it ends, the outer loop has more
        outer = outer.outer
    return best


def _works(loop: Stream) -> bool:
    """Whether the loop's own body does the work. Reading the result of an inner loop is none."""
    work = _WORK if loop.did(_WORK & ~HOST) < _USUALLY else _WORK & ~HOST
    return loop.did(work, own=True) >= _USUALLY


def _updates(loop: Stream) -> bool:
    """Whether the loop's own body takes part in training."""
    return loop.did(UPDATE, own=True) >= _AT_TIMES


def _complete(loop: Stream) -> bool:
    return all(loop.did(part) >= _AT_TIMES for part in (TAPE, GRADIENT, COMMIT | ASSIGN))


def _whole_update(loop: Stream) -> Stream | None:
    """Go outwards from a loop that takes part in training to the one whose iteration is a whole update."""
    best: Stream | None = loop if _complete(loop) else None
    at = loop
    if loop.kind == STREAM_FIT and loop.count / max(loop.entries, 1) <= _TINY_FIT and _goes_on(loop.outer):
        best = at = loop.outer  # type: ignore[assignment]
    for _ in range(_MOST_NESTED):
        outer = at.outer
        if outer is None or outer.count < ENOUGH:
            return best
        own_gradient = outer.did(GRADIENT, own=True) >= _USUALLY
        own_commit = outer.did(COMMIT, own=True) >= _USUALLY
        own_change = outer.did(COMMIT | ASSIGN, own=True) >= _USUALLY
        if best is None:
            best = outer if _complete(outer) else None
        elif own_gradient and own_change:  # several updates make one step, as with a generator and its critic
            best = outer
        elif (
            own_commit and best.did(COMMIT) < _AT_TIMES
        ):  # the inner loop only accumulates what the optimizer applies
            best = outer
        elif (own_change and _says(_PARTS, best)) or (_in_step_with(best, outer) and best.kind != STREAM_FIT):
            best = outer
        at = outer
    return best


def _goes_on(loop: Stream | None) -> bool:
    return loop is not None and loop.count >= ENOUGH


def _whole_work(loop: Stream, alive: list[Stream]) -> Stream:
    """Go outwards from a loop that works, as long as it only goes through the parts of one piece of work."""
    for _ in range(_MOST_NESTED):
        outer = loop.outer
        if outer is None or outer not in alive or _says(_EPOCHS, outer):
            return loop
        iterations = loop.count / max(outer.count, 1)
        parts = loop.changes >= _USUALLY * loop.count and iterations > 1 and not _says(_STEPS, loop)
        few = _few(iterations, outer) and outer.calls and not _says(_STEPS, loop)
        if not (parts or _says(_PARTS, loop) or _in_step_with(loop, outer) or few):
            return loop
        loop = outer
    return loop


def _few(iterations: float, outer: Stream) -> bool:
    """Whether so few inner iterations are the parts of one outer iteration."""
    if iterations <= _HANDFUL:
        return outer.count >= iterations
    return outer.count > 2 * iterations and outer.did(_WORK & ~HOST, own=True) >= _USUALLY


def _in_step_with(loop: Stream, outer: Stream) -> bool:
    """One inner iteration per outer iteration: a generator and the loop over it, a loop over one thing."""
    return outer.count >= _IN_STEP * loop.count and not _says(_EPOCHS, outer)


def _says(words: re.Pattern[str], loop: Stream) -> bool:
    """Look at what the author calls the loop, as people who read the code do."""
    if not loop.header:
        loop.header = source_line(loop.file, loop.line).partition("#")[0].strip() or "?"
    return bool(words.search(loop.header))


def matches(loop: Stream, wanted: str) -> bool:
    """Whether `--step` means this stream: a name, or FILE:LINE."""
    file, _, line = wanted.rpartition(":")
    if line.isdigit() and file:
        return loop.line == int(line) and loop.file.endswith(file)
    return loop.kind != STREAM_LOOP and loop.name in (wanted, wanted.rpartition(".")[2])
