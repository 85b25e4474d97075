"""TensorFlow 1's Sessions: how many are open, their runs, and the graphs that they run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType
from typing import Any

from ..protocol.names import (
    GAUGE_GRAPH_OPS,
    GAUGE_OPEN_SESSIONS,
    STREAM_SESSION_RUN,
    TALLY_SESSION,
    TALLY_SUMMARIES,
)
from ..safety.weak_table import WeakTable
from ..steps.streams import RUN, TRAINS, Stream
from .base import Hook, find
from .context import HookContext
from .patch import hide_wrapper_frame

#: Runs per line whose fetches are examined, to see whether they train or only write summaries.
_LOOK_AT = 5
#: How deep fetches are nested at most, and how far an optimizer's op is behind groups and counters.
_NESTED, _BEHIND = 4, 5


class SessionHook(Hook):
    title = "Sessions"
    modules = ("tensorflow.python.client.session",)

    def __init__(self, context: HookContext) -> None:
        super().__init__(context)
        self._sessions: WeakTable[None] = WeakTable()
        self._looked: dict[int, int] = {}
        self._any_opened = False

    def install(self, module: ModuleType) -> None:
        base = find(module, "BaseSession")
        self.patch(base, "__init__", self._opening)
        timed = self.context.timed(self._of, RUN, ends=("OutOfRangeError",))
        self.patch(base, "run", timed, times=STREAM_SESSION_RUN)

    def tick(self, now: int) -> None:
        if not self._any_opened:
            return
        sessions = [s for s in self._sessions if not getattr(s, "_closed", False)]
        self.context.gauge(GAUGE_OPEN_SESSIONS, now, len(sessions))
        graphs = list(self.context.graphs)
        if graphs:
            self.context.gauge(GAUGE_GRAPH_OPS, now, max(int(g.version) for g in graphs))

    def _of(self, frame: FrameType | None, args: tuple[Any, ...]) -> Stream:
        stream = self.context.site(STREAM_SESSION_RUN, "Session.run", frame)
        looked = self._looked.get(id(stream), 0)
        if looked < _LOOK_AT and len(args) > 1:
            self._looked[id(stream)] = looked + 1
            ops = list(ops_of(args[1]))
            if any(_trains(op) for op in ops):
                stream.bits |= TRAINS
            summaries = [is_summary(op.type) for op in ops]
            if summaries and all(summaries):
                self.context.tallies.add(TALLY_SUMMARIES, frame)
            elif any(summaries):
                self.context.trace_runs = True
        if args[0].graph not in self.context.graphs:
            self.context.graphs[args[0].graph] = None
        return stream

    def _opening(self, original: Callable[..., Any]) -> Callable[..., Any]:
        context, sessions, getframe = self.context, self._sessions, sys._getframe

        def __init__(session: Any, *args: Any, **kwds: Any) -> None:  # noqa: N807
            try:
                original(session, *args, **kwds)
            except BaseException as error:
                hide_wrapper_frame(error)
                raise
            try:
                sessions[session] = None
                self._any_opened = True
                context.tallies.add(TALLY_SESSION, getframe().f_back)
            except Exception as error:
                context.report_error(error)

        return __init__


def is_summary(kind: Any) -> bool:
    """Whether an op's type is a summary's: HistogramSummary, MergeSummary, TensorSummaryV2."""
    return str(kind).removesuffix("V2").endswith("Summary")


def ops_of(fetches: Any, depth: int = 0) -> Iterator[Any]:
    if isinstance(fetches, dict):
        fetches = list(fetches.values())
    if isinstance(fetches, (list, tuple)) and depth < _NESTED:
        for fetch in fetches:
            yield from ops_of(fetch, depth + 1)
    elif not isinstance(fetches, str):
        op = getattr(fetches, "op", fetches)
        if hasattr(op, "type") and hasattr(op, "control_inputs"):
            yield op


def _trains(op: Any, depth: int = 0) -> bool:
    """Whether an op is an optimizer's, directly or behind the groups and counters that optimizers end in."""
    kind = str(op.type)
    if kind.startswith(("Apply", "ResourceApply", "SparseApply", "ResourceSparseApply")):
        return True
    if depth > _BEHIND or not (kind in ("NoOp", "Identity", "Const") or kind.startswith("Assign")):
        return False
    before = [*list(op.control_inputs)[:50], *(tensor.op for tensor in op.inputs)]
    return any(_trains(other, depth + 1) for other in before)
