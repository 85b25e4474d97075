"""Counts, times and explains the traces of tf.functions. Costs nothing for a call that does not trace."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from ...code.ownership import code_of, version_of
from ...protocol.events import Note, Reason, Trace
from ...protocol.names import TALLY_TRACE_OPS
from ...safety.frames import uncollected
from ...safety.signal_handlers import let_through
from ...steps.streams import CALL
from ..context import HookContext
from ..patch import copy_metadata, hide_wrapper_frame
from ..tracing_state import Tracing
from .graph_work import MOST_TRACES, GraphWork
from .reasons import Explainer
from .unrolled import unrolled
from .xla_shapes import Shapes

#: TensorFlow 2.14 and later make every trace in this module.
MODULE = "tensorflow.python.eager.polymorphic_function.tracing_compilation"
_PLACE = "_create_concrete_function"
#: Nanoseconds from which on the ops of a trace are examined.
_LONG = 1_000_000_000
#: Functions that are remembered by their line, and by their cache.
_MOST = 20_000


class TraceHook:
    """Wraps the function that makes traces. With a context, it also learns what the traced function does."""

    def __init__(
        self,
        emit: Callable[[Any], None],
        context: HookContext | None = None,
        on_retrace: Callable[[CodeType, str, tuple[Reason, ...]], None] | None = None,
    ) -> None:
        """`on_retrace` gets the code, name and reasons of each trace of a user's function."""
        self._emit, self._context, self._on_retrace = emit, context, on_retrace
        self._numbers: Counter[tuple[str, str, int]] = Counter()
        self._explainer = Explainer()
        self._original: Callable[..., Any] | None = None
        self._tracing = context.tracing if context is not None else Tracing()
        self._shapes = Shapes(context) if context is not None else None
        self._work = GraphWork(context.ownership) if context is not None else None

    def install(self) -> None:
        module = sys.modules.get(MODULE)
        original = getattr(module, _PLACE, None)
        if module is None or original is None:
            version = version_of("tensorflow")
            self._emit(
                Note(f"Retraces are not counted: TensorFlow {version} makes them in an unknown place.")
            )
            return

        def traced(function_type: Any, type_context: Any, func_graph: Any, options: Any) -> Any:
            reasons: tuple[Reason, ...] = ()
            start = time.perf_counter_ns()
            concrete = None
            self._tracing.begin()
            try:
                reasons = self._explain(function_type, options)
                start = time.perf_counter_ns()
                concrete = original(function_type, type_context, func_graph, options)
                return concrete
            except BaseException as error:
                hide_wrapper_frame(error)
                raise
            finally:
                wall = time.perf_counter_ns() - start
                self._end(options, start, wall, reasons, concrete, sys._getframe())

        copy_metadata(traced, original)
        self._original = original
        setattr(module, _PLACE, traced)

    def remove(self) -> None:
        if self._original is not None:
            setattr(sys.modules[MODULE], _PLACE, self._original)
            self._original = None
        if self._shapes is not None:
            self._shapes.remove()

    def _explain(self, function_type: Any, options: Any) -> tuple[Reason, ...]:
        try:
            return self._explainer.explain(function_type, options)
        except Exception as error:
            let_through(error)
            self._emit(Note(f"A trace could not be explained: {type(error).__name__}: {error}"))
            return ()

    def _end(
        self,
        options: Any,
        start: int,
        wall: int,
        reasons: tuple[Reason, ...],
        concrete: Any,
        frame: FrameType,
    ) -> None:
        context = self._context
        bits, nested = self._tracing.end()
        self._explainer.done()
        try:
            name = str(getattr(options, "name", None) or "function")
            code = code_of(getattr(options, "python_function", None))
            place = (name, code.co_filename, code.co_firstlineno) if code else (name, "", 0)
            if place not in self._numbers and len(self._numbers) >= _MOST:
                self._numbers.clear()
            self._numbers[place] += 1
            user, library = ("", 0), False
            if context is not None:
                context.traces += 1
                library = code is None or context.ownership.is_library(code.co_filename)
                user = context.ownership.user_line(frame)
                cache = id(getattr(options, "function_cache", None))
                if cache in context.does or len(context.does) < _MOST:
                    context.does[cache] = context.does.get(cache, CALL) | bits
                if concrete is not None and code is not None:
                    context.concrete[concrete] = (code, cache)
                if concrete is not None and wall >= _LONG and not nested:
                    seen = unrolled(concrete.graph, context.ownership)
                    if seen is not None:
                        context.tallies.put(
                            TALLY_TRACE_OPS, name, seen.file, seen.line, seen.times, wall, seen.ops
                        )
                if concrete is not None and self._work is not None and self._numbers[place] <= MOST_TRACES:
                    with uncollected():  # hundreds of short-lived objects would start a collection
                        looked = self._work.look(concrete, place[1:], name, user)
                    for found in looked:
                        context.tallies.put(*found[:4], found.times, 0, found.size)
            if self._on_retrace is not None and code is not None and not (library or nested):
                self._on_retrace(code, name, reasons)
            jit = bool((getattr(options, "attributes", None) or {}).get("_XlaMustCompile"))
            if concrete is not None and self._shapes is not None:
                self._shapes.watch(concrete, name, jit)
            self._emit(
                Trace(
                    *place,
                    self._numbers[place],
                    start,
                    wall,
                    reasons,
                    *user,
                    nested=nested,
                    jit=jit,
                    library=library,
                )
            )
        except Exception as error:
            let_through(error)
            self._emit(Note(f"Error in tfslowtop's agent while recording a trace: {error}"))
