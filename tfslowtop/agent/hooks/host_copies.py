"""Results pulled to the host and arrays pushed to the device: how often, how long, and at which line."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..protocol.names import TALLY_HOST_COPY, TALLY_HOST_SYNC, TALLY_WIDE_ARRAY, TallyKind
from ..steps.streams import HOST
from ..steps.tracker import RESULT_READ
from .base import Hook, find
from .context import HookContext
from .patch import MissingTarget, hide_wrapper_frame

_OPS = "tensorflow.python.framework.ops"
_CONSTANTS = "tensorflow.python.framework.constant_op"
_ARGUMENTS = ["value", "ctx", "dtype"]

#: Above this many calls a second only every 16th is measured, and counted for all of them.
_OFTEN = 20_000
_EVERY = 15
#: Seconds that a rate is measured over at least.
_LEAST_SPAN = 0.05
#: Smaller arrays are ignored: Python numbers become such arrays on the way.
_SMALL = 1024
#: NumPy's codes of double precision, which it makes by default: float64 and complex128.
_WIDE = "dD"


class HostCopyHook(Hook):
    title = "copies between host and device"
    modules = (_OPS, _CONSTANTS)

    def __init__(self, context: HookContext) -> None:
        super().__init__(context)
        self._pulls, self._pushes = context.pulls, [0, 0]
        self._before = [0, 0, 0]

    def install(self, module: ModuleType) -> None:
        if module.__name__ == _OPS:
            file = find(module, "_EagerTensorBase", "numpy").__code__.co_filename
            self.patch(
                find(module, "_EagerTensorBase"), "_numpy", lambda original: self._pulling(original, file)
            )
        else:
            array = sys.modules["numpy"].ndarray
            if list(inspect.signature(find(module, "convert_to_eager_tensor")).parameters) != _ARGUMENTS:
                raise MissingTarget(f"known convert_to_eager_tensor in {_CONSTANTS}")
            self.patch(module, "convert_to_eager_tensor", lambda original: self._pushing(original, array))

    def tick(self, now: int) -> None:
        then, pulls, pushes = self._before
        seconds = (now - then) / 1e9
        if seconds < _LEAST_SPAN:
            return
        for counter, before in ((self._pulls, pulls), (self._pushes, pushes)):
            counter[1] = _EVERY if (counter[0] - before) / seconds > _OFTEN else 0
        self._before = [now, self._pulls[0], self._pushes[0]]

    def _pulling(self, original: Callable[..., Any], file: str) -> Callable[..., Any]:
        context, calls = self.context, self._pulls
        tracing, here, enter = context.tracing.any, context.tracing.here, context.tracker.enter
        clock, getframe = time.perf_counter_ns, sys._getframe

        def _numpy(tensor: Any) -> Any:
            try:
                if tracing and here() is not None:
                    return original(tensor)
                calls[0] = number = calls[0] + 1
                if number & calls[1]:
                    return original(tensor)
                start = clock()
                caller = getframe().f_back
                if caller is not None and caller.f_code.co_filename == file:
                    iteration = enter(
                        caller, start, 0, RESULT_READ
                    )  # numpy() or __float__, which the program calls
                    caller = caller.f_back
                else:
                    iteration = enter(getframe(), start, 0, RESULT_READ)
                result = original(tensor)
            except BaseException as error:
                hide_wrapper_frame(error)
                raise
            self._note(TALLY_HOST_SYNC, iteration, start, caller, result, calls[1] + 1)
            return result

        return _numpy

    def _pushing(self, original: Callable[..., Any], array: Any) -> Callable[..., Any]:
        context, calls = self.context, self._pushes
        tracing, here, enter = context.tracing.any, context.tracing.here, context.tracker.enter
        clock, getframe = time.perf_counter_ns, sys._getframe

        def convert_to_eager_tensor(value: Any, ctx: Any, dtype: Any = None) -> Any:
            try:
                if value.__class__ is not array or value.nbytes < _SMALL:
                    return original(value, ctx, dtype)  # as for every number in an eager expression
                if tracing and here() is not None:
                    return original(value, ctx, dtype)
                calls[0] = number = calls[0] + 1
                if number & calls[1]:
                    return original(value, ctx, dtype)
                start = clock()
                iteration = enter(getframe(), start)
                result = original(value, ctx, dtype)
            except BaseException as error:
                hide_wrapper_frame(error)
                raise
            self._note(TALLY_HOST_COPY, iteration, start, getframe().f_back, value, calls[1] + 1)
            if value.dtype.char in _WIDE and dtype is None:
                context.tallies.add(TALLY_WIDE_ARRAY, getframe().f_back, 0, value.nbytes, calls[1] + 1)
            return result

        return convert_to_eager_tensor

    def _note(self, what: TallyKind, iteration: Any, start: int, frame: Any, array: Any, times: int) -> None:
        try:
            end = time.perf_counter_ns()
            size = getattr(array, "nbytes", 0)
            self.context.tallies.add(what, frame, (end - start) * times, size * times, times)
            if iteration is not None:
                iteration.end = end
                iteration.bits |= HOST
        except Exception as error:
            self.context.report_error(error)
