"""Traces some runs of a Session with TensorFlow's own tracer, to divide their time.

A run that trains and writes summaries takes as long as both, and one that is fed a large array as long as the
copy and the work; nothing outside shows how much is which. TensorFlow can record when each op of a run began
and ended; that changes no result, and the run takes no longer.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

from ..protocol.names import RUN_FEEDING, RUN_OTHER_OPS, RUN_PLAIN, RUN_SUMMARIES, TALLY_RUN_TRACE
from .base import Hook, find
from .context import HookContext
from .feeds import copied
from .patch import Patch, hide_wrapper_frame
from .sessions import is_summary, ops_of

#: Nanoseconds between two traced runs, for the first ones and later.
_EARLY, _PAUSE = 1_000_000_000, 5_000_000_000
_FIRST = 5


class TracedRunHook(Hook):
    title = "runs of Sessions"
    modules = ("tensorflow.python.client.session",)

    def __init__(self, context: HookContext) -> None:
        super().__init__(context)
        self._module: Any = None
        self._runs: Patch | None = None
        self._looks = self._next = 0

    def install(self, module: ModuleType) -> None:
        self._module = module
        for name in ("TF_NewBuffer", "TF_NewBufferFromString", "TF_GetBuffer", "TF_DeleteBuffer"):
            find(module, "tf_session", name)
        self._runs = self.patch(find(module, "BaseSession"), "_run", self._looking)
        self._runs.off()

    def tick(self, now: int) -> None:
        if self._runs is None or not self.context.trace_runs or now < self._next:
            return
        if self._next:  # not at once: the first run is still being prepared
            self._looks += 1
            self._runs.install(self._looking)
        self._next = now + (_EARLY if self._looks < _FIRST else _PAUSE)

    def _looking(self, original: Callable[..., Any]) -> Callable[..., Any]:
        getframe = sys._getframe

        def _run(
            session: Any, handle: Any, fetches: Any, feed_dict: Any, options: Any, run_metadata: Any
        ) -> Any:
            ours: tuple[Any, ...] = ()
            if options is None and run_metadata is None:
                ours = self._buffers(fetches, feed_dict, getframe().f_back)
            begin = time.time_ns()  # TensorFlow's own clock
            try:
                result = original(session, handle, fetches, feed_dict, *(ours or (options, run_metadata)))
            except BaseException as error:
                self._free(ours)
                hide_wrapper_frame(error)
                raise
            if ours:
                self._read(ours[1], begin, feed_dict, getframe().f_back)
                self._free(ours)
            return result

        return _run

    def _buffers(self, fetches: Any, feed_dict: Any, frame: FrameType | None) -> tuple[Any, ...]:
        """Return the buffers that request and receive a trace, if the run is worth one. Never raises."""
        try:
            if self._runs is not None:
                self._runs.off()  # one is enough
            if not any(is_summary(op.type) for op in ops_of(fetches)) and not copied(feed_dict):
                self.context.tallies.add(TALLY_RUN_TRACE, frame, symbol=RUN_PLAIN)
                return ()
            api, config = self._module.tf_session, sys.modules["tensorflow.core.protobuf.config_pb2"]
            wanted = config.RunOptions(trace_level=config.RunOptions.SOFTWARE_TRACE).SerializeToString()
            return api.TF_NewBufferFromString(wanted), api.TF_NewBuffer()
        except Exception as error:
            self.context.report_error(error)
            return ()

    def _free(self, buffers: tuple[Any, ...]) -> None:
        for buffer in buffers:
            self._module.tf_session.TF_DeleteBuffer(buffer)

    def _read(self, metadata: Any, begin: int, feed_dict: Any, frame: FrameType | None) -> None:
        """Read how long summaries and other ops took, and when arrays were copied, how long until the first
        op. Never raises: the run succeeded."""
        try:
            config = sys.modules["tensorflow.core.protobuf.config_pb2"]
            recorded = config.RunMetadata.FromString(self._module.tf_session.TF_GetBuffer(metadata))
            nodes = [node for device in recorded.step_stats.dev_stats for node in device.node_stats]
            took = {True: 0, False: 0}
            for node in nodes:
                took[_is_summary_label(node.timeline_label)] += (
                    node.op_end_rel_micros - node.op_start_rel_micros
                )
            add = self.context.tallies.add
            if took[True]:
                add(TALLY_RUN_TRACE, frame, wall=1000 * took[True], symbol=RUN_SUMMARIES)
                add(TALLY_RUN_TRACE, frame, wall=1000 * took[False], symbol=RUN_OTHER_OPS)
            else:
                add(TALLY_RUN_TRACE, frame, symbol=RUN_PLAIN)
            size = copied(feed_dict)
            if size and nodes:
                waited = 1000 * min(node.all_start_micros for node in nodes) - begin
                add(TALLY_RUN_TRACE, frame, wall=max(0, waited), size=size, symbol=RUN_FEEDING)
        except Exception as error:
            self.context.report_error(error)


def _is_summary_label(label: str) -> bool:
    """Whether a label such as `name = HistogramSummary(inputs)` is a summary's."""
    return is_summary(label.partition(" = ")[2].partition("(")[0])
