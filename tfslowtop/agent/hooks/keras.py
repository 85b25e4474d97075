"""Keras: batches of fit, calls of evaluate, predict and *_on_batch, calls of models, and callbacks.

It relies on what Keras 2 and Keras 3 have in common.
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
from ..steps.streams import CALL, KERAS, TRAINS, Iteration, Stream
from ..steps.tracker import Visit
from .base import Hook, find
from .context import HookContext
from .keras_modules import is_keras_2, keras_2
from .patch import MissingTarget, Wrap, hide_wrapper_frame
from .tracing_state import eager

_TRAINER = "keras.src.backend.tensorflow.trainer"
_MODEL = "keras.src.models.model"
_CALLBACKS = "keras.src.callbacks.callback_list"
_OLD_MODEL = keras_2("engine.training")
_OLD_CALLBACKS = keras_2("callbacks")

_TRAINS = TRAINS | KERAS
_METHODS = {
    "evaluate": (STREAM_EVALUATE, KERAS),
    "predict": (STREAM_PREDICT, KERAS),
    "train_on_batch": (STREAM_TRAIN_ON_BATCH, _TRAINS),
    "test_on_batch": (STREAM_TEST_ON_BATCH, KERAS),
    "predict_on_batch": (STREAM_PREDICT_ON_BATCH, KERAS),
}
#: Calls that could process many items at once.
_ONE_BY_ONE = (STREAM_MODEL_CALL, STREAM_PREDICT_ON_BATCH)
#: Values of a row that are compared.
_LOOKED_AT = 16


class FitCall:
    """A running call of fit; its batches are iterations."""

    def __init__(self, stream: Stream, outer: Iteration | None) -> None:
        self.stream, self.outer = stream, outer
        self.iteration: Iteration | None = None
        self.ended = False


class KerasHook(Hook):
    title = "Keras fit, evaluate and predict"
    modules = (_TRAINER, _MODEL, _CALLBACKS, *_OLD_MODEL, *_OLD_CALLBACKS)

    def __init__(self, context: HookContext) -> None:
        super().__init__(context)
        self._fits: list[FitCall] = []
        self._loops: dict[tuple[str, int], Stream] = {}
        self._timed_callbacks: set[tuple[type, str]] = set()
        self._next_rows: dict[Stream, tuple[int, int, bytes]] = {}
        """The row after the one of the last call: the array's id, the row's number, its first values."""
        self._pulls: dict[Stream, int] = {}
        """How many results had been pulled at the last call with one item."""

    def install(self, module: ModuleType) -> None:
        name = module.__name__
        is_old = name in (*_OLD_MODEL, *_OLD_CALLBACKS)
        if is_old and not is_keras_2(name):
            return
        if name in (_CALLBACKS, *_OLD_CALLBACKS):
            self._place_callbacks(find(module, "CallbackList"))
            return
        called = self.context.timed(self._of(STREAM_MODEL_CALL, "model"), CALL, when=eager)
        if name == _MODEL:
            self.patch(find(module, "Model"), "__call__", called)
            return
        owner = find(module, "TensorFlowTrainer" if name == _TRAINER else "Model")
        self.patch(owner, "fit", self._fitting)
        for method, (kind, bits) in _METHODS.items():
            self.patch(owner, method, self.context.timed(self._of(kind, method), bits))
        if is_old:
            self.patch(owner, "__call__", called)

    def _of(self, kind: StreamKind, name: str) -> Callable[[FrameType | None, tuple[Any, ...]], Stream]:
        def of(frame: FrameType | None, args: tuple[Any, ...]) -> Stream:
            loop = self.context.site(kind, name, frame)
            if len(args) > 1 and kind in _ONE_BY_ONE:
                self._is_item(loop, args[1], frame)
                self._is_row(loop, args[1], frame)
            return loop

        return of

    def _is_item(self, loop: Stream, given: Any, frame: FrameType | None) -> None:
        """Count calls with an array of one item, if no result was read since the previous call: then the
        input does not depend on that call."""
        if type(given).__module__ == "numpy" and getattr(given, "shape", ())[:1] == (1,):
            pulls = self.context.pulls[0]
            if self._pulls.get(loop) == pulls:
                self.context.tallies.add(TALLY_ONE_ITEM, frame)
            self._pulls[loop] = pulls

    def _is_row(self, loop: Stream, given: Any, frame: FrameType | None) -> None:
        """Count calls with the row after the one of the previous call, if that row had the same values then:
        an environment that writes observations into a buffer changes it."""
        base: Any = getattr(given, "base", None)
        if type(base) is not type(given) or type(given).__module__ != "numpy" or not base.shape:
            return
        if given.shape != (1, *base.shape[1:]) or not base.strides[0]:
            return
        begin = given.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        row = begin // base.strides[0]
        expected = self._next_rows.pop(loop, None)
        if expected == (id(base), row, given.flat[:_LOOKED_AT].tobytes()):
            self.context.tallies.add(TALLY_ONE_ROW, frame)
        if 0 <= row + 1 < base.shape[0]:
            self._next_rows[loop] = (id(base), row + 1, base[row + 1].flat[:_LOOKED_AT].tobytes())

    def _fitting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        fits = self._fits
        timed = self.context.timed(self._begin, KERAS)(original)

        def fit(*args: Any, **kwds: Any) -> Any:
            depth = len(fits)
            try:
                return timed(*args, **kwds)
            except BaseException as error:
                hide_wrapper_frame(error)
                raise
            finally:
                while len(fits) > depth:
                    self._close(fits.pop())

        return fit

    def _begin(self, frame: FrameType | None, args: tuple[Any, ...]) -> Stream:
        user = self.context.ownership.user_frame(frame)
        file, line = self.context.ownership.user_line(user)
        loop = self._loops.get((file, line))
        if loop is None:
            loop = self._loops[file, line] = self.context.tracker.new_stream(STREAM_FIT, "fit", file, line)
        loop.entries += 1
        loop.main = True
        visit: Any = user.f_trace if user is not None else None
        self._fits.append(FitCall(loop, visit.iteration if visit.__class__ is Visit else None))
        return self.context.site(STREAM_FIT_CALL, "fit", frame)

    def _close(self, fit: FitCall | None) -> None:
        if fit is not None and fit.iteration is not None:
            if not fit.ended:
                fit.iteration.bits = fit.iteration.below = 0  # it found no more data
            fit.iteration.close()
            fit.iteration = None

    def _place_callbacks(self, owner: Any) -> None:
        self.patch(owner, "on_train_batch_begin", self._around(self._batch_begins, None))
        self.patch(owner, "on_train_batch_end", self._around(None, self._batch_ended))
        self.patch(owner, "on_epoch_end", self._around(self._epoch_ends, None))
        self.patch(owner, "set_model", self._around(None, self._time_callbacks))

    def _around(
        self, before: Callable[..., None] | None, after: Callable[..., None] | None
    ) -> Callable[..., Any]:
        """Make a wrapper that calls us before or after the original."""
        report_error, getframe = self.context.report_error, sys._getframe

        def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
            def wrapper(owner: Any, *args: Any, **kwds: Any) -> Any:
                try:
                    if before is not None:
                        report(before, owner, getframe().f_back)
                    result = original(owner, *args, **kwds)
                except BaseException as error:
                    hide_wrapper_frame(error)
                    raise
                if after is not None:
                    report(after, owner, getframe().f_back)
                return result

            return wrapper

        def report(whom: Callable[..., None], owner: Any, frame: FrameType | None) -> None:
            try:
                whom(owner, frame)
            except Exception as error:
                report_error(error)

        return wrap

    def _batch_begins(self, owner: Any, frame: FrameType | None) -> None:
        if not self._fits:
            return
        fit, now = self._fits[-1], time.perf_counter_ns()
        if fit.iteration is None:
            fit.iteration = Iteration(fit.stream, now, fit.outer)
        else:
            fit.iteration.again(now)
        iteration, fit.ended = fit.iteration, False
        iteration.bits = _TRAINS
        # What the user's own train_step does eagerly belongs to this batch.
        if frame is not None and (frame.f_trace is None or frame.f_trace.__class__ is Visit):
            frame.f_trace = Visit(None, iteration, -1, False)

    def _batch_ended(self, owner: Any, frame: FrameType | None) -> None:
        if self._fits and self._fits[-1].iteration is not None:
            self._fits[-1].iteration.end = time.perf_counter_ns()
            self._fits[-1].ended = True

    def _epoch_ends(self, owner: Any, frame: FrameType | None) -> None:
        if self._fits:
            self._close(self._fits[-1])

    def _time_callbacks(self, owner: Any, frame: FrameType | None) -> None:
        """Time the methods that each callback's class defines."""
        for callback in list(getattr(owner, "callbacks", ())):
            if type(callback).__weakrefoffset__:
                self.context.library_held[type(callback).__name__] = weakref.ref(callback)
            for base in type(callback).__mro__:
                if base.__name__ == "Callback" or base is object:
                    break
                for name in [n for n in vars(base) if n.startswith("on_")]:
                    if (base, name) not in self._timed_callbacks and callable(vars(base)[name]):
                        self._timed_callbacks.add((base, name))
                        try:
                            code = getattr(vars(base)[name], "__code__", None)
                            self.patch(base, name, self._timing(f"{base.__name__}.{name}", code))
                        except (MissingTarget, AttributeError, TypeError):
                            pass  # a class that cannot be changed is not timed

    def _timing(self, symbol: str, code: CodeType | None) -> Wrap:
        def report(frame: FrameType | None, args: tuple[Any, ...], wall: int) -> None:
            self.context.tallies.at(TALLY_CALLBACK, symbol, code, 0, wall, 0)

        return self.context.reported(TALLY_CALLBACK, report)
