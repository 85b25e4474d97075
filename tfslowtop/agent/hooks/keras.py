"""Keras: batches of fit, calls of evaluate, predict and *_on_batch, models called, and the callbacks' share.

The same for Keras 3 and for tf_keras: what they share is enough.
"""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Callable
from types import CodeType, FrameType, ModuleType
from typing import Any

from ..protocol.names import (
    STREAM_EVALUATE,
    STREAM_FIT,
    STREAM_FIT_CALL,
    STREAM_MODEL_CALL,
    STREAM_PREDICT,
    STREAM_PREDICT_ON_BATCH,
    STREAM_TEST_ON_BATCH,
    STREAM_TRAIN_ON_BATCH,
    TALLY_CALLBACK,
    TALLY_ONE_ITEM,
    TALLY_ONE_ROW,
    StreamKind,
)
from ..steps.streams import CALL, KERAS, TRAINS, Loop, Turn
from ..steps.tracker import Visit
from .base import Hook, find
from .context import Kit
from .patch import NoPlace, Wrap, unseen
from .tracing_state import eager

_TRAINER = "keras.src.backend.tensorflow.trainer"
_MODEL = "keras.src.models.model"
_CALLBACKS = "keras.src.callbacks.callback_list"
_OLD_MODEL = "tf_keras.src.engine.training"
_OLD_CALLBACKS = "tf_keras.src.callbacks"

_TRAINS = TRAINS | KERAS
_METHODS = {
    "evaluate": (STREAM_EVALUATE, KERAS),
    "predict": (STREAM_PREDICT, KERAS),
    "train_on_batch": (STREAM_TRAIN_ON_BATCH, _TRAINS),
    "test_on_batch": (STREAM_TEST_ON_BATCH, KERAS),
    "predict_on_batch": (STREAM_PREDICT_ON_BATCH, KERAS),
}
#: Calls that are as good with many items as with one.
_ONE_BY_ONE = (STREAM_MODEL_CALL, STREAM_PREDICT_ON_BATCH)
#: Values of a row that are looked at.
_LOOKED_AT = 16


class Fit:
    """One call of fit on its way: its batches are turns."""

    def __init__(self, loop: Loop, outer: Turn | None) -> None:
        self.loop, self.outer = loop, outer
        self.turn: Turn | None = None
        self.ended = False


class KerasHook(Hook):
    title = "Keras fit, evaluate and predict"
    modules = (_TRAINER, _MODEL, _CALLBACKS, _OLD_MODEL, _OLD_CALLBACKS)

    def __init__(self, kit: Kit) -> None:
        super().__init__(kit)
        self._fits: list[Fit] = []
        self._loops: dict[tuple[str, int], Loop] = {}
        self._dressed: set[tuple[type, str]] = set()
        self._next_rows: dict[Loop, tuple[int, int, bytes]] = {}
        """The row after the one that the last call had: the array's id, its number, how it begins."""
        self._pulls: dict[Loop, int] = {}
        """How many results had been pulled by the last call with one item."""

    def place(self, module: ModuleType) -> None:
        name = module.__name__
        if name in (_CALLBACKS, _OLD_CALLBACKS):
            self._place_callbacks(find(module, "CallbackList"))
            return
        called = self.kit.timed(self._of(STREAM_MODEL_CALL, "model"), CALL, when=eager)
        if name == _MODEL:
            self.patch(find(module, "Model"), "__call__", called)
            return
        owner = find(module, "TensorFlowTrainer" if name == _TRAINER else "Model")
        self.patch(owner, "fit", self._fitting)
        for method, (kind, bits) in _METHODS.items():
            self.patch(owner, method, self.kit.timed(self._of(kind, method), bits))
        if name == _OLD_MODEL:
            self.patch(owner, "__call__", called)

    def _of(self, kind: StreamKind, name: str) -> Callable[[FrameType | None, tuple[Any, ...]], Loop]:
        def of(frame: FrameType | None, args: tuple[Any, ...]) -> Loop:
            loop = self.kit.site(kind, name, frame)
            if len(args) > 1 and kind in _ONE_BY_ONE:
                self._is_item(loop, args[1], frame)
                self._is_row(loop, args[1], frame)
            return loop

        return of

    def _is_item(self, loop: Loop, given: Any, frame: FrameType | None) -> None:
        """Counts calls with an array of one item if nobody has looked at any result since the call before:
        what is given does not follow from that one's."""
        if type(given).__module__ == "numpy" and getattr(given, "shape", ())[:1] == (1,):
            pulls = self.kit.pulls[0]
            if self._pulls.get(loop) == pulls:
                self.kit.tallies.add(TALLY_ONE_ITEM, frame)
            self._pulls[loop] = pulls

    def _is_row(self, loop: Loop, given: Any, frame: FrameType | None) -> None:
        """Counts calls with the next row of an array of which the call before had one, if that next row was
        there already by then: what an agent's world writes into a buffer is not."""
        base: Any = getattr(given, "base", None)
        if type(base) is not type(given) or type(given).__module__ != "numpy" or not base.shape:
            return
        if given.shape != (1, *base.shape[1:]) or not base.strides[0]:
            return
        begin = given.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        row = begin // base.strides[0]
        expected = self._next_rows.pop(loop, None)
        if expected == (id(base), row, given.flat[:_LOOKED_AT].tobytes()):
            self.kit.tallies.add(TALLY_ONE_ROW, frame)
        if 0 <= row + 1 < base.shape[0]:
            self._next_rows[loop] = (id(base), row + 1, base[row + 1].flat[:_LOOKED_AT].tobytes())

    def _fitting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        fits = self._fits
        timed = self.kit.timed(self._begin, KERAS)(original)

        def fit(*args: Any, **kwds: Any) -> Any:
            depth = len(fits)
            try:
                return timed(*args, **kwds)
            except BaseException as error:
                unseen(error)
                raise
            finally:
                while len(fits) > depth:
                    self._close(fits.pop())

        return fit

    def _begin(self, frame: FrameType | None, args: tuple[Any, ...]) -> Loop:
        user = self.kit.places.user_frame(frame)
        file, line = self.kit.places.user_line(user)
        loop = self._loops.get((file, line))
        if loop is None:
            loop = self._loops[file, line] = self.kit.tracker.loop(STREAM_FIT, "fit", file, line)
        loop.entries += 1
        loop.main = True
        visit: Any = user.f_trace if user is not None else None
        self._fits.append(Fit(loop, visit.turn if visit.__class__ is Visit else None))
        return self.kit.site(STREAM_FIT_CALL, "fit", frame)

    def _close(self, fit: Fit | None) -> None:
        if fit is not None and fit.turn is not None:
            if not fit.ended:
                fit.turn.bits = fit.turn.below = 0  # a batch that found no data any more
            fit.turn.close()
            fit.turn = None

    def _place_callbacks(self, owner: Any) -> None:
        self.patch(owner, "on_train_batch_begin", self._around(self._batch_begins, None))
        self.patch(owner, "on_train_batch_end", self._around(None, self._batch_ended))
        self.patch(owner, "on_epoch_end", self._around(self._epoch_ends, None))
        self.patch(owner, "set_model", self._around(None, self._dress))

    def _around(
        self, before: Callable[..., None] | None, after: Callable[..., None] | None
    ) -> Callable[..., Any]:
        """A wrapper that tells us before or after the original."""
        oops, getframe = self.kit.oops, sys._getframe

        def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
            def wrapper(owner: Any, *args: Any, **kwds: Any) -> Any:
                try:
                    if before is not None:
                        tell(before, owner, getframe().f_back)
                    result = original(owner, *args, **kwds)
                except BaseException as error:
                    unseen(error)
                    raise
                if after is not None:
                    tell(after, owner, getframe().f_back)
                return result

            return wrapper

        def tell(whom: Callable[..., None], owner: Any, frame: FrameType | None) -> None:
            try:
                whom(owner, frame)
            except Exception as error:
                oops(error)

        return wrap

    def _batch_begins(self, owner: Any, frame: FrameType | None) -> None:
        if not self._fits:
            return
        fit, now = self._fits[-1], time.perf_counter_ns()
        if fit.turn is None:
            fit.turn = Turn(fit.loop, now, fit.outer)
        else:
            fit.turn.again(now)
        turn, fit.ended = fit.turn, False
        turn.bits = _TRAINS
        # What the user's own train_step does eagerly belongs to this batch.
        if frame is not None and (frame.f_trace is None or frame.f_trace.__class__ is Visit):
            frame.f_trace = Visit(None, turn, -1, False)

    def _batch_ended(self, owner: Any, frame: FrameType | None) -> None:
        if self._fits and self._fits[-1].turn is not None:
            self._fits[-1].turn.end = time.perf_counter_ns()
            self._fits[-1].ended = True

    def _epoch_ends(self, owner: Any, frame: FrameType | None) -> None:
        if self._fits:
            self._close(self._fits[-1])

    def _dress(self, owner: Any, frame: FrameType | None) -> None:
        """Times the methods that each callback's class has of its own, for the share of each."""
        for callback in list(getattr(owner, "callbacks", ())):
            if type(callback).__weakrefoffset__:
                self.kit.lent[type(callback).__name__] = weakref.ref(callback)
            for base in type(callback).__mro__:
                if base.__name__ == "Callback" or base is object:
                    break
                for name in [n for n in vars(base) if n.startswith("on_")]:
                    if (base, name) not in self._dressed and callable(vars(base)[name]):
                        self._dressed.add((base, name))
                        try:
                            code = getattr(vars(base)[name], "__code__", None)
                            self.patch(base, name, self._timing(f"{base.__name__}.{name}", code))
                        except (NoPlace, AttributeError, TypeError):
                            pass  # a class that cannot be changed is not timed

    def _timing(self, symbol: str, code: CodeType | None) -> Wrap:
        def tell(frame: FrameType | None, args: tuple[Any, ...], wall: int) -> None:
            self.kit.tallies.at(TALLY_CALLBACK, symbol, code, 0, wall, 0)

        return self.kit.noted(TALLY_CALLBACK, tell)
