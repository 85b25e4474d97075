"""New shapes that reach a function which XLA compiles: each one is compiled for, and no trace tells of it.

Only functions that are compiled, or call one that is, and whose signature leaves a dimension open are
watched, each by itself: the calls of all others do not come by here.
"""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Callable
from typing import Any

from ...protocol.names import TALLY_XLA_SHAPE
from ...safety.weak_table import WeakTable
from ..context import Kit
from ..patch import dress, unseen

#: Shapes that are remembered per function; after so many nothing new is to be learnt.
_MOST = 4096
_PLACE = "_call_flat"


class Shapes:
    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._watched: WeakTable[None] = WeakTable()

    def watch(self, concrete: Any, name: str, jit: bool) -> None:
        """A function that has just been traced."""
        graph = concrete.graph
        # By the graph's own side: to ask for what was captured runs code, in which distributed programs meet.
        captured = len(graph.internal_captures) + len(graph.deferred_internal_captures)
        own = graph.inputs[: len(graph.inputs) - captured]
        if all(tensor.shape.is_fully_defined() for tensor in own):
            return  # a new shape is a new trace
        if not jit and not _calls_compiled(graph):
            return
        wrapper = self._calling(weakref.ref(concrete), getattr(type(concrete), _PLACE), name)
        dress(wrapper, getattr(type(concrete), _PLACE))
        setattr(concrete, _PLACE, wrapper)
        self._watched[concrete] = None

    def remove(self) -> None:
        for concrete in self._watched:
            vars(concrete).pop(_PLACE, None)
        self._watched.clear()

    def _calling(
        self, reference: weakref.ref[Any], original: Callable[..., Any], name: str
    ) -> Callable[..., Any]:
        kit, seen, clock, getframe = self._kit, set[Any](), time.perf_counter_ns, sys._getframe
        tracing, here = kit.tracing.any, kit.tracing.here

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
                unseen(error)
                raise
            seen.add(key)
            try:
                kit.tallies.add(TALLY_XLA_SHAPE, getframe().f_back, clock() - start, symbol=name)
            except Exception as error:
                kit.oops(error)
            return result

        return _call_flat


def _calls_compiled(graph: Any) -> bool:
    calls = (op for op in graph.get_operations() if op.type.endswith("PartitionedCall"))
    return any("_XlaMustCompile" in op.node_def.attr and op.get_attr("_XlaMustCompile") for op in calls)


def _key(inputs: Any) -> tuple[Any, ...]:
    """The shapes of tensors; what is no tensor has none."""
    return tuple(getattr(value, "_shape_tuple", tuple)() for value in inputs)
