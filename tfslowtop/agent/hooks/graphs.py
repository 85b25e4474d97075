"""Counts ops that a line adds to a graph which is already being run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..protocol.names import TALLY_GRAPH_OP
from .base import Hook, find
from .patch import hide_wrapper_frame


class GraphHook(Hook):
    title = "ops added to a running graph"
    modules = ("tensorflow.python.framework.ops",)

    def install(self, module: ModuleType) -> None:
        self.patch(find(module, "Graph"), "_create_op_internal", self._creating)

    def _creating(self, original: Callable[..., Any]) -> Callable[..., Any]:
        context, getframe = self.context, sys._getframe
        tracing, here = context.tracing.any, context.tracing.here

        def _create_op_internal(graph: Any, *args: Any, **kwds: Any) -> Any:
            try:
                result = original(graph, *args, **kwds)
            except BaseException as error:
                hide_wrapper_frame(error)
                raise
            if not tracing or here() is None:
                try:
                    if graph in context.graphs:
                        context.tallies.add(TALLY_GRAPH_OP, getframe().f_back)
                except Exception as error:
                    context.report_error(error)
            return result

        return _create_op_internal
