"""Counts, times and explains the traces of tf.functions. Costs nothing on a call that does not trace."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

from ...code.ownership import code_of, version_of
from ...protocol.events import Note, Reason, Trace
from ...protocol.names import TALLY_TRACE_OPS
from ...steps.streams import CALL
from ..context import Kit
from ..patch import dress, unseen
from ..tracing_state import Tracing
from .reasons import Explainer
from .unrolled import unrolled
from .xla_shapes import Shapes

#: TensorFlow 2.14 and later keep the one place where every trace is made here.
MODULE = "tensorflow.python.eager.polymorphic_function.tracing_compilation"
_PLACE = "_create_concrete_function"
#: Nanoseconds from which on a trace is worth a look at what it is made of.
_LONG = 1_000_000_000
#: Functions that are remembered by their place, and by their cache.
_MOST = 20_000


class TraceHook:
    """Wraps the place where a trace is made. With a kit, it also learns what the function does."""

    def __init__(self, emit: Callable[[Any], None], kit: Kit | None = None) -> None:
        self._emit, self._kit = emit, kit
        self._numbers: Counter[tuple[str, str, int]] = Counter()
        self._explainer = Explainer()
        self._original: Callable[..., Any] | None = None
        self._tracing = kit.tracing if kit is not None else Tracing()
        self._shapes = Shapes(kit) if kit is not None else None

    def install(self) -> None:
        module = sys.modules.get(MODULE)
        original = getattr(module, _PLACE, None)
        if module is None or original is None:
            version = version_of("tensorflow")
            self._emit(Note(f"retraces are not counted: TensorFlow {version} keeps them in another place"))
            return

        def traced(function_type: Any, type_context: Any, func_graph: Any, options: Any) -> Any:
            reasons = self._begin(function_type, options)
            start = time.perf_counter_ns()
            concrete = None
            try:
                concrete = original(function_type, type_context, func_graph, options)
                return concrete
            except BaseException as error:
                unseen(error)
                raise
            finally:
                wall = time.perf_counter_ns() - start
                self._end(options, start, wall, reasons, concrete, sys._getframe())

        dress(traced, original)
        self._original = original
        setattr(module, _PLACE, traced)

    def remove(self) -> None:
        if self._original is not None:
            setattr(sys.modules[MODULE], _PLACE, self._original)
            self._original = None
        if self._shapes is not None:
            self._shapes.remove()

    def _begin(self, function_type: Any, options: Any) -> tuple[Reason, ...]:
        self._tracing.begin()
        try:
            return self._explainer.explain(function_type, options)
        except Exception as error:
            self._emit(Note(f"a trace could not be explained: {type(error).__name__}: {error}"))
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
        kit = self._kit
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
            if kit is not None:
                kit.traces += 1
                library = code is None or kit.places.is_library(code.co_filename)
                user = kit.places.user_line(frame)
                cache = id(getattr(options, "function_cache", None))
                if cache in kit.does or len(kit.does) < _MOST:
                    kit.does[cache] = kit.does.get(cache, CALL) | bits
                if concrete is not None and code is not None:
                    kit.concrete[concrete] = (code, cache)
                if concrete is not None and wall >= _LONG and not nested:
                    seen = unrolled(concrete.graph, kit.places)
                    if seen is not None:
                        kit.tallies.put(
                            TALLY_TRACE_OPS, name, seen.file, seen.line, seen.times, wall, seen.ops
                        )
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
            self._emit(Note(f"the agent's own error while noting a trace: {error}"))
