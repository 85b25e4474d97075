"""Gradients, optimizers and assignments: what makes an iteration a training step."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

from ..protocol.names import STREAM_APPLY, STREAM_GRADIENT
from ..steps.streams import ASSIGN, COMMIT, GRADIENT, TAPE, Stream
from .base import Hook, find
from .keras_modules import is_keras_2, keras_2
from .patch import hide_wrapper_frame
from .tracing_state import eager

_TAPE = "tensorflow.python.eager.backprop"
_VARIABLES = "tensorflow.python.ops.resource_variable_ops"
_V1 = "tensorflow.python.training.optimizer"
_KERAS = "keras.src.optimizers.base_optimizer"
_KERAS_2 = keras_2("optimizers.optimizer")
_LEGACY = keras_2("optimizers.legacy.optimizer_v2")

#: Variables that are remembered as sources of gradients; more are not needed to recognise a training step.
_MOST_SOURCES = 100_000


class GradientHook(Hook):
    title = "gradients and optimizers"
    modules = (_TAPE, _VARIABLES, _V1, _KERAS, *_KERAS_2, *_LEGACY)

    def install(self, module: ModuleType) -> None:
        name = module.__name__
        if name == _TAPE:
            tape = find(module, "GradientTape")
            self.patch(tape, "gradient", self._gradient)
            self.patch(tape, "__enter__", self._open)
        elif name == _VARIABLES:
            for method in ("assign", "assign_add", "assign_sub"):
                for owner in (find(module, "BaseResourceVariable"), find(module, "ResourceVariable")):
                    if method in vars(owner):
                        self.patch(owner, method, self._assign)
        elif name == _KERAS:
            self.patch(find(module, "BaseOptimizer"), "apply", self._apply())
        elif name in _KERAS_2:
            if is_keras_2(name):
                self.patch(find(module, "_BaseOptimizer"), "apply_gradients", self._apply())
        elif name in _LEGACY:
            self.patch(find(module, "OptimizerV2"), "apply_gradients", self._apply())
        else:
            self.patch(find(module, "Optimizer"), "apply_gradients", self._apply())

    def _apply(self) -> Callable[..., Any]:
        def of(frame: FrameType | None, args: tuple[Any, ...]) -> Stream:
            return self.context.site(STREAM_APPLY, f"{type(args[0]).__name__}.apply", frame)

        return self.context.timed(of, COMMIT, when=eager)

    def _open(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Watch where a tape is opened: the forward pass begins there."""
        context = self.context
        tracing, here, enter = context.tracing.any, context.tracing.here, context.tracker.enter
        clock, getframe = time.perf_counter_ns, sys._getframe

        def __enter__(tape: Any) -> Any:  # noqa: N807
            if tracing and (traced := here()) is not None:
                traced[-1] |= TAPE
            elif eager():
                iteration = enter(getframe(), clock())
                if iteration is not None:
                    iteration.bits |= TAPE
            return original(tape)

        return __enter__

    def _gradient(self, original: Callable[..., Any]) -> Callable[..., Any]:
        sources, report_error = self.context.sources, self.context.report_error

        def of(frame: FrameType | None, args: tuple[Any, ...]) -> Stream:
            return self.context.site(STREAM_GRADIENT, "tape.gradient", frame)

        def remember(args: tuple[Any, ...], kwds: dict[str, Any]) -> None:
            try:
                values: Any = args[2] if len(args) > 2 else kwds.get("sources")
                many = isinstance(values, (list, tuple))
                if many and values and id(_value(values[0])) in sources:
                    return
                sources.update(id(_value(value)) for value in (values if many else (values,)))
                if len(sources) > _MOST_SOURCES:
                    sources.clear()
            except Exception as error:
                report_error(error)

        return self.context.timed(of, GRADIENT, when=eager, first=remember)(original)

    def _assign(self, original: Callable[..., Any]) -> Callable[..., Any]:
        context = self.context
        tracing, here, sources, enter = (
            context.tracing.any,
            context.tracing.here,
            context.sources,
            context.tracker.enter,
        )
        clock, getframe = time.perf_counter_ns, sys._getframe

        def assign(self: Any, *args: Any, **kwds: Any) -> Any:
            try:
                if id(self) not in sources:
                    return original(self, *args, **kwds)
                if tracing and (traced := here()) is not None:
                    traced[-1] |= ASSIGN
                    return original(self, *args, **kwds)
                iteration = enter(getframe(), clock())
                result = original(self, *args, **kwds)
            except BaseException as error:
                hide_wrapper_frame(error)
                raise
            if iteration is not None:
                iteration.bits |= ASSIGN
                iteration.end = clock()
            return result

        return assign


def _value(variable: Any) -> Any:
    """Return the variable that a Keras variable wraps."""
    return getattr(variable, "_value", variable)
