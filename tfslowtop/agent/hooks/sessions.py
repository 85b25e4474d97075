"""TensorFlow 1 style: Sessions opened, run and closed, and the graphs that they run."""

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
from ..steps.streams import RUN, TRAINS, Loop
from .base import Hook, find
from .context import Kit
from .patch import unseen

#: Runs of one line whose fetches are looked at, to see whether they train, or only tell.
_LOOK_AT = 5


class SessionHook(Hook):
    title = "Sessions"
    modules = ("tensorflow.python.client.session",)

    def __init__(self, kit: Kit) -> None:
        super().__init__(kit)
        self._sessions: WeakTable[None] = WeakTable()
        self._looked: dict[int, int] = {}
        self._any_opened = False

    def place(self, module: ModuleType) -> None:
        base = find(module, "BaseSession")
        self.patch(base, "__init__", self._opening)
        self.patch(base, "run", self.kit.timed(self._of, RUN, ends=("OutOfRangeError",)))

    def tick(self, now: int) -> None:
        if not self._any_opened:
            return
        sessions = [s for s in self._sessions if not getattr(s, "_closed", False)]
        self.kit.gauge(GAUGE_OPEN_SESSIONS, now, len(sessions))
        graphs = list(self.kit.graphs)
        if graphs:
            self.kit.gauge(GAUGE_GRAPH_OPS, now, max(int(g.version) for g in graphs))

    def _of(self, frame: FrameType | None, args: tuple[Any, ...]) -> Loop:
        loop = self.kit.site(STREAM_SESSION_RUN, "Session.run", frame)
        looked = self._looked.get(id(loop), 0)
        if looked < _LOOK_AT and len(args) > 1:
            self._looked[id(loop)] = looked + 1
            ops = list(ops_of(args[1]))
            if any(_trains(op) for op in ops):
                loop.bits |= TRAINS
            told = [is_summary(op.type) for op in ops]
            if told and all(told):
                self.kit.tallies.add(TALLY_SUMMARIES, frame)
            elif any(told):
                self.kit.trace_runs = True
        if args[0].graph not in self.kit.graphs:
            self.kit.graphs[args[0].graph] = None
        return loop

    def _opening(self, original: Callable[..., Any]) -> Callable[..., Any]:
        kit, sessions, getframe = self.kit, self._sessions, sys._getframe

        def __init__(session: Any, *args: Any, **kwds: Any) -> None:  # noqa: N807
            try:
                original(session, *args, **kwds)
            except BaseException as error:
                unseen(error)
                raise
            try:
                sessions[session] = None
                self._any_opened = True
                kit.tallies.add(TALLY_SESSION, getframe().f_back)
            except Exception as error:
                kit.oops(error)

        return __init__


def is_summary(kind: Any) -> bool:
    """Of an op's type: HistogramSummary, MergeSummary, TensorSummaryV2."""
    return str(kind).removesuffix("V2").endswith("Summary")


def ops_of(fetches: Any, depth: int = 0) -> Iterator[Any]:
    if isinstance(fetches, dict):
        fetches = list(fetches.values())
    if isinstance(fetches, (list, tuple)) and depth < 4:
        for fetch in fetches:
            yield from ops_of(fetch, depth + 1)
    elif not isinstance(fetches, str):
        op = getattr(fetches, "op", fetches)
        if hasattr(op, "type") and hasattr(op, "control_inputs"):
            yield op


def _trains(op: Any, depth: int = 0) -> bool:
    """Whether an op is an optimizer's: itself, or behind the groups and counters that optimizers end in."""
    kind = str(op.type)
    if kind.startswith(("Apply", "ResourceApply", "SparseApply", "ResourceSparseApply")):
        return True
    if depth > 5 or not (kind in ("NoOp", "Identity", "Const") or kind.startswith("Assign")):
        return False
    before = [*list(op.control_inputs)[:50], *(tensor.op for tensor in op.inputs)]
    return any(_trains(other, depth + 1) for other in before)
