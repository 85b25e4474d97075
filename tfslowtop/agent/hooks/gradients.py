"""Gradients, optimizers and assignments: what makes an iteration a training step."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

from ..protocol.names import STREAM_APPLY, STREAM_GRADIENT
from ..steps.streams import ASSIGN, COMMIT, GRADIENT, TAPE, Loop
from .base import Hook, find
from .patch import unseen
from .tracing_state import eager

_TAPE = "tensorflow.python.eager.backprop"
_VARIABLES = "tensorflow.python.ops.resource_variable_ops"
_V1 = "tensorflow.python.training.optimizer"
_KERAS = "keras.src.optimizers.base_optimizer"
_LEGACY = "tf_keras.src.optimizers.optimizer"

#: Variables that are remembered as gradients' sources; more are not needed to know a training step.
_MOST_SOURCES = 100_000


class UpdateHook(Hook):
    title = "gradients and optimizers"
    modules = (_TAPE, _VARIABLES, _V1, _KERAS, _LEGACY)

    def place(self, module: ModuleType) -> None:
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
        elif name == _LEGACY:
            self.patch(find(module, "_BaseOptimizer"), "apply_gradients", self._apply())
        else:
            self.patch(find(module, "Optimizer"), "apply_gradients", self._apply())

    def _apply(self) -> Callable[..., Any]:
        def of(frame: FrameType | None, args: tuple[Any, ...]) -> Loop:
            return self.kit.site(STREAM_APPLY, f"{type(args[0]).__name__}.apply", frame)

        return self.kit.timed(of, COMMIT, when=eager)

    def _open(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Where a tape is opened the forward pass begins: a step has its own."""
        kit = self.kit
        tracing, here, enter = kit.tracing.any, kit.tracing.here, kit.tracker.enter
        clock, getframe = time.perf_counter_ns, sys._getframe

        def __enter__(tape: Any) -> Any:  # noqa: N807
            if tracing and (traced := here()) is not None:
                traced[-1] |= TAPE
            elif eager():
                turn = enter(getframe(), clock())
                if turn is not None:
                    turn.bits |= TAPE
            return original(tape)

        return __enter__

    def _gradient(self, original: Callable[..., Any]) -> Callable[..., Any]:
        sources, oops = self.kit.sources, self.kit.oops

        def of(frame: FrameType | None, args: tuple[Any, ...]) -> Loop:
            return self.kit.site(STREAM_GRADIENT, "tape.gradient", frame)

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
                oops(error)

        return self.kit.timed(of, GRADIENT, when=eager, first=remember)(original)

    def _assign(self, original: Callable[..., Any]) -> Callable[..., Any]:
        kit = self.kit
        tracing, here, sources, enter = kit.tracing.any, kit.tracing.here, kit.sources, kit.tracker.enter
        clock, getframe = time.perf_counter_ns, sys._getframe

        def assign(self: Any, *args: Any, **kwds: Any) -> Any:
            try:
                if id(self) not in sources:
                    return original(self, *args, **kwds)
                if tracing and (traced := here()) is not None:
                    traced[-1] |= ASSIGN
                    return original(self, *args, **kwds)
                turn = enter(getframe(), clock())
                result = original(self, *args, **kwds)
            except BaseException as error:
                unseen(error)
                raise
            if turn is not None:
                turn.bits |= ASSIGN
                turn.end = clock()
            return result

        return assign


def _value(variable: Any) -> Any:
    """A Keras variable holds the real one."""
    return getattr(variable, "_value", variable)
