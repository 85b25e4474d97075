"""Which line adds ops to a graph that is being run already."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..protocol.names import TALLY_GRAPH_OP
from .base import Hook, find
from .patch import unseen


class GraphHook(Hook):
    title = "ops added to a running graph"
    modules = ("tensorflow.python.framework.ops",)

    def place(self, module: ModuleType) -> None:
        self.patch(find(module, "Graph"), "_create_op_internal", self._creating)

    def _creating(self, original: Callable[..., Any]) -> Callable[..., Any]:
        kit, getframe = self.kit, sys._getframe
        tracing, here = kit.tracing.any, kit.tracing.here

        def _create_op_internal(graph: Any, *args: Any, **kwds: Any) -> Any:
            try:
                result = original(graph, *args, **kwds)
            except BaseException as error:
                unseen(error)
                raise
            if not tracing or here() is None:
                try:
                    if graph in kit.graphs:
                        kit.tallies.add(TALLY_GRAPH_OP, getframe().f_back)
                except Exception as error:
                    kit.oops(error)
            return result

        return _create_op_internal
