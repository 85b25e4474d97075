"""Counts new shapes that reach a function which XLA compiles: each is compiled without a trace.

Only functions that are compiled, or call one that is, and whose signature leaves a dimension open are
watched, each by itself: calls of all others do not pass here.
"""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Callable
from typing import Any

from ...protocol.names import TALLY_XLA_SHAPE
from ...safety.weak_table import WeakTable
from ..context import HookContext
from ..patch import copy_metadata, hide_wrapper_frame

#: Shapes that are remembered per function; beyond that nothing new is to be learnt.
_MOST = 4096
_PLACE = "_call_flat"


class Shapes:
    def __init__(self, context: HookContext) -> None:
        self._context = context
        self._watched: WeakTable[None] = WeakTable()

    def watch(self, concrete: Any, name: str, jit: bool) -> None:
        """Watch a function that has just been traced."""
        graph = concrete.graph
        # By the graph's own side: asking for what was captured runs code in which distributed programs
        # synchronise.
        captured = len(graph.internal_captures) + len(graph.deferred_internal_captures)
        own = graph.inputs[: len(graph.inputs) - captured]
        if all(tensor.shape.is_fully_defined() for tensor in own):
            return  # a new shape is a new trace
        if not jit and not _calls_compiled(graph):
            return
        wrapper = self._calling(weakref.ref(concrete), getattr(type(concrete), _PLACE), name)
        copy_metadata(wrapper, getattr(type(concrete), _PLACE))
        setattr(concrete, _PLACE, wrapper)
        self._watched[concrete] = None

    def remove(self) -> None:
        for concrete in self._watched:
            vars(concrete).pop(_PLACE, None)
        self._watched.clear()

    def _calling(
        self, reference: weakref.ref[Any], original: Callable[..., Any], name: str
    ) -> Callable[..., Any]:
        context, seen, clock, getframe = self._context, set[Any](), time.perf_counter_ns, sys._getframe
        tracing, here = context.tracing.any, context.tracing.here

        def _call_flat(inputs: Any, *args: Any, **kwds: Any) -> Any:
            concrete = reference()
            try:
                if tracing and here() is not None:
                    return original(concrete, inputs, *args, **kwds)
                key = _key(inputs)
                if key in seen or len(seen) >= _MOST:
                    return original(concrete, inputs, *args, **kwds)
                start = clock()
                result = original(concrete, inputs, *args, **kwds)
            except BaseException as error:
                hide_wrapper_frame(error)
                raise
            seen.add(key)
            try:
                context.tallies.add(TALLY_XLA_SHAPE, getframe().f_back, clock() - start, symbol=name)
            except Exception as error:
                context.report_error(error)
            return result

        return _call_flat


def _calls_compiled(graph: Any) -> bool:
    calls = (op for op in graph.get_operations() if op.type.endswith("PartitionedCall"))
    return any("_XlaMustCompile" in op.node_def.attr and op.get_attr("_XlaMustCompile") for op in calls)


def _key(inputs: Any) -> tuple[Any, ...]:
    """Return the shapes of the tensors among the inputs."""
    return tuple(getattr(value, "_shape_tuple", tuple)() for value in inputs)
