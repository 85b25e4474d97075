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
from .places import NAME, Traced, from_compiler, from_options, place_of
from .reasons import Explainer
from .unrolled import unrolled
from .xla_shapes import Shapes

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
        self._patched: tuple[Any, Callable[..., Any]] | None = None
        self._tracing = context.tracing if context is not None else Tracing()
        self._shapes = Shapes(context) if context is not None else None
        self._work = GraphWork(context.ownership) if context is not None else None

    def install(self, module: str) -> None:
        """Install the wrapper in a module that makes traces; `places.PLACES` has their names."""
        owner = place_of(module)
        if owner is None:
            version = version_of("tensorflow")
            self._emit(
                Note(f"Retraces are not counted: TensorFlow {version} makes them in an unknown place.")
            )
            return
        original = getattr(owner, NAME)
        read = from_compiler if isinstance(owner, type) else from_options

        def traced(*args: Any, **kwds: Any) -> Any:
            concrete: Any = None
            begun: Traced | None = None
            reasons: tuple[Reason, ...] = ()
            start = time.perf_counter_ns()
            self._tracing.begin()
            try:
                begun, reasons = self._begin(read, args)
                start = time.perf_counter_ns()
                concrete = original(*args, **kwds)
                return concrete
            except BaseException as error:
                hide_wrapper_frame(error)
                raise
            finally:
                wall = time.perf_counter_ns() - start
                self._end(begun, start, wall, reasons, concrete, sys._getframe())

        copy_metadata(traced, original)
        self._patched = owner, original
        setattr(owner, NAME, traced)

    def remove(self) -> None:
        if self._patched is not None:
            owner, original = self._patched
            setattr(owner, NAME, original)
            self._patched = None
        if self._shapes is not None:
            self._shapes.remove()

    def _begin(
        self, read: Callable[..., Traced], args: tuple[Any, ...]
    ) -> tuple[Traced | None, tuple[Reason, ...]]:
        """Find out what is going to be traced, and why."""
        begun = None
        try:
            begun = read(*args)
            return begun, self._explainer.explain(begun)
        except Exception as error:
            let_through(error)
            self._emit(Note(f"A trace could not be explained: {type(error).__name__}: {error}"))
            return begun, ()

    def _end(
        self,
        begun: Traced | None,
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
            name = begun.name if begun is not None else "function"
            code = code_of(begun.python_function) if begun is not None else None
            place = (name, code.co_filename, code.co_firstlineno) if code else (name, "", 0)
            if place not in self._numbers and len(self._numbers) >= _MOST:
                self._numbers.clear()
            self._numbers[place] += 1
            user, library = ("", 0), False
            if context is not None:
                context.traces += 1
                library = code is None or context.ownership.is_library(code.co_filename)
                user = context.ownership.user_line(frame)
                cache = id(begun.cache if begun is not None else None)
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
            jit = begun is not None and bool(begun.attributes.get("_XlaMustCompile"))
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
