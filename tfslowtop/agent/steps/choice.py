"""Which of the things that repeat a person would call the step.

A training step is the smallest loop whose turn has a forward pass, a gradient and a change of the model. So
a loop over micro-batches (gradients only) or over layers (changes only) is part of a step, and the loop
around it that adds what is missing is the step. Where nothing is trained, the step is the innermost loop
that does the work, unless it only goes through the parts of one piece of work: other functions at every
turn, or a few turns each inside a loop that does something else as well and goes round more often. Keras' own
batches count as turns of a loop.
"""

from __future__ import annotations

import linecache
import re
from typing import NamedTuple

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
from .streams import ASSIGN, CALL, COMMIT, GRADIENT, HOST, KERAS, OP, RUN, TAPE, TRAINS, UPDATE, Loop

_WORK = UPDATE | CALL | RUN | KERAS | HOST | OP

#: Turns before a loop is worth talking about.
ENOUGH = 3
#: A share of turns that means "usually".
_USUALLY = 0.5
#: A share of turns that means "now and then, but as part of it": an optimizer applied at every 32nd batch.
_AT_TIMES = 0.02
#: So many turns in each round of the loop around them may be its parts.
_HANDFUL = 8
#: A fit of so few batches is itself one piece of the work of the loop around it.
_TINY_FIT = 2
#: Of two loops, one in the other, the outer one has more of the time as soon as its turn has ended.
_NEARLY = 0.75
#: The part of a loop's time that all its turns but the longest have.
_RATHER = 0.5
#: Training is the step beside other loops unless it is a trifle of the time, or was over long ago: the other
#: loop has had this many times the training's own time since then.
_TRIFLE = 0.1
_LONG_AGO = 2

_EPOCHS = re.compile(r"epoch|episode|round|repeat|trial|fold|phase", re.I)
_PARTS = re.compile(r"layer|micro|accum|head|weight|param|grad|\bvars?\b|variable|slot|critic|replica", re.I)
_STEPS = re.compile(r"step|batch|iter|frame|request|image|example", re.I)


class Choice(NamedTuple):
    loop: Loop
    why: str
    """In words, for the screen. Nothing is decided by them."""
    trains: bool


def choose(loops: list[Loop], calls: list[Loop]) -> Choice | None:
    """The step among the loops, or for want of any among the things that are called; and why."""
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


def trains(step: Loop, loops: list[Loop]) -> bool:
    """Whether a step that somebody else chose trains a model, or is a part of what does.

    Of a marked step and of most calls it is not known what they do: then, whether the program trains now.
    """
    if step.kind in _TRAIN or step.bits & TRAINS:
        return True
    if step.kind in _CALLED and step.kind != STREAM_FUNCTION:
        return False
    if step.masks:
        return _complete(step) or (_updates(step) and _whole_update(step) is not None)
    return _candidates(loops)[0] is not None


def _candidates(loops: list[Loop]) -> tuple[Loop | None, Loop | None]:
    """The loop that trains, unless the program does something else by now; and the loop that works."""
    alive = [loop for loop in loops if loop.count >= ENOUGH and loop.kind != STREAM_MARKED]
    alive = [loop for loop in alive if loop.main] or alive
    training = _heaviest({_whole_update(loop) for loop in alive if _updates(loop)} - {None})
    working = _heaviest({_whole_work(loop, alive) for loop in alive if _works(loop)})
    if training is not None and working is not None and _gave_way(training, working):
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


def _gave_way(training: Loop, working: Loop) -> bool:
    """Whether the program does something else now: a model that was trained in a minute serves for hours."""
    took = _usual(training)
    since = min(working.last - training.last, _usual(working))
    return took <= _TRIFLE * _usual(working) or since > _LONG_AGO * took


def _wall(loop: Loop) -> int:
    return loop.buffer.total_wall()


def _usual(loop: Loop) -> int:
    """Of what is begun once, without the longest turn: a function was traced in it."""
    return _wall(loop) - (loop.buffer.longest if loop.entries <= 1 else 0)


def _heaviest(loops: set[Loop | None] | set[Loop]) -> Loop | None:
    found = [loop for loop in loops if loop is not None]
    if not found:
        return None
    best = max(found, key=lambda loop: (_wall(loop), loop.line))
    if _usual(best) < _RATHER * _wall(best):  # one turn is most of it: a function was traced
        best = max(found, key=lambda loop: (_usual(loop), loop.line))
    outer = best.outer
    for _ in range(20):
        if outer is None:
            break
        if outer in found and _wall(outer) >= _NEARLY * _wall(best):
            best = outer  # its turn of now is not counted yet: when that ends, it has more
        outer = outer.outer
    return best


def _works(loop: Loop) -> bool:
    """Whether the loop's own body does the work. To look at the result of a loop inside is none."""
    work = _WORK if loop.did(_WORK & ~HOST) < _USUALLY else _WORK & ~HOST
    return loop.did(work, own=True) >= _USUALLY


def _updates(loop: Loop) -> bool:
    """Whether the loop's own body takes part in training."""
    return loop.did(UPDATE, own=True) >= _AT_TIMES


def _complete(loop: Loop) -> bool:
    return all(loop.did(part) >= _AT_TIMES for part in (TAPE, GRADIENT, COMMIT | ASSIGN))


def _whole_update(loop: Loop) -> Loop | None:
    """From a loop that takes part in training outwards to the one whose turn is a whole update."""
    best: Loop | None = loop if _complete(loop) else None
    at = loop
    if loop.kind == STREAM_FIT and loop.count / max(loop.entries, 1) <= _TINY_FIT and _goes_on(loop.outer):
        best = at = loop.outer  # type: ignore[assignment]
    for _ in range(20):
        outer = at.outer
        if outer is None or outer.count < ENOUGH:
            return best
        own_gradient = outer.did(GRADIENT, own=True) >= _USUALLY
        own_commit = outer.did(COMMIT, own=True) >= _USUALLY
        own_change = outer.did(COMMIT | ASSIGN, own=True) >= _USUALLY
        if best is None:
            best = outer if _complete(outer) else None
        elif own_gradient and own_change:  # several updates make one step, as a generator's and its critic's
            best = outer
        elif (
            own_commit and best.did(COMMIT) < _AT_TIMES
        ):  # the inner one only adds up what the optimizer applies
            best = outer
        elif (own_change and _says(_PARTS, best)) or (_in_step_with(best, outer) and best.kind != STREAM_FIT):
            best = outer
        at = outer
    return best


def _goes_on(loop: Loop | None) -> bool:
    return loop is not None and loop.count >= ENOUGH


def _whole_work(loop: Loop, alive: list[Loop]) -> Loop:
    """From a loop that does work outwards, as long as it only goes through the parts of one piece of work."""
    for _ in range(20):
        outer = loop.outer
        if outer is None or outer not in alive or _says(_EPOCHS, outer):
            return loop
        turns = loop.count / max(outer.count, 1)
        parts = loop.changes >= _USUALLY * loop.count and turns > 1 and not _says(_STEPS, loop)
        few = _few(turns, outer) and outer.calls and not _says(_STEPS, loop)
        if not (parts or _says(_PARTS, loop) or _in_step_with(loop, outer) or few):
            return loop
        loop = outer
    return loop


def _few(turns: float, outer: Loop) -> bool:
    """Whether so many turns inside are the parts of one turn outside, and not a heap of their own."""
    if turns <= _HANDFUL:
        return outer.count >= turns
    return outer.count > 2 * turns and outer.did(_WORK & ~HOST, own=True) >= _USUALLY


def _in_step_with(loop: Loop, outer: Loop) -> bool:
    """One turn inside for each turn outside: a generator and the loop over it, a loop over one thing."""
    return outer.count >= 0.8 * loop.count and not _says(_EPOCHS, outer)


def _says(words: re.Pattern[str], loop: Loop) -> bool:
    """What the loop's author calls it: people who read the code go by that too."""
    if not loop.header:
        loop.header = linecache.getline(loop.file, loop.line).partition("#")[0].strip() or "?"
    return bool(words.search(loop.header))


def matches(loop: Loop, wanted: str) -> bool:
    """Whether `--step` means this one: a name, or FILE:LINE."""
    file, _, line = wanted.rpartition(":")
    if line.isdigit() and file:
        return loop.line == int(line) and loop.file.endswith(file)
    return loop.kind != STREAM_LOOP and loop.name in (wanted, wanted.rpartition(".")[2])
