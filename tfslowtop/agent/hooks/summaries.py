"""What summaries take within a Session's run: some runs are traced, by TensorFlow's own means.

A run that trains and tells at once takes as long as both, and nothing outside says how much is which.
TensorFlow can note when each op of a run began and ended; that changes no result, and a run takes as long as
any other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

from ..kit import Kit
from ..patch import Patch, unseen
from .hook import Hook, find
from .sessions import summaries_in

#: Nanoseconds between two runs that are looked at, the first ones and later.
_EARLY, _PAUSE = 1_000_000_000, 5_000_000_000
_FIRST = 5


class SummaryHook(Hook):
    title = "summaries"
    modules = ("tensorflow.python.client.session",)

    def __init__(self, kit: Kit) -> None:
        super().__init__(kit)
        self._module: Any = None
        self._runs: Patch | None = None
        self._looks = self._next = 0

    def place(self, module: ModuleType) -> None:
        self._module = module
        for name in ("TF_NewBuffer", "TF_NewBufferFromString", "TF_GetBuffer", "TF_DeleteBuffer"):
            find(module, "tf_session", name)
        self._runs = self.patch(find(module, "BaseSession"), "_run", self._looking)
        self._runs.off()

    def tick(self, now: int) -> None:
        if self._runs is None or not self.kit.tells or now < self._next:
            return
        if self._next:  # not at once: what is found at the first run is still being prepared
            self._looks += 1
            self._runs.wear(self._looking)
        self._next = now + (_EARLY if self._looks < _FIRST else _PAUSE)

    def _looking(self, original: Callable[..., Any]) -> Callable[..., Any]:
        getframe = sys._getframe

        def _run(
            session: Any, handle: Any, fetches: Any, feed_dict: Any, options: Any, run_metadata: Any
        ) -> Any:
            given = options is not None or run_metadata is not None
            try:
                if self._runs is not None:
                    self._runs.off()  # one is enough
                told = not given and summaries_in(fetches)
                if not given and not told:
                    self.kit.tallies.add("run-trace", getframe().f_back, symbol="without")
            except Exception as error:
                told = False
                self.kit.oops(error)
            try:
                if told:
                    return self._trace(original, (session, handle, fetches, feed_dict), getframe().f_back)
                return original(session, handle, fetches, feed_dict, options, run_metadata)
            except BaseException as error:
                unseen(error)
                raise

        return _run

    def _trace(self, run: Callable[..., Any], args: tuple[Any, ...], frame: FrameType | None) -> Any:
        buffers = self._module.tf_session
        config = sys.modules["tensorflow.core.protobuf.config_pb2"]
        wanted = config.RunOptions(trace_level=config.RunOptions.SOFTWARE_TRACE).SerializeToString()
        options, metadata = buffers.TF_NewBufferFromString(wanted), buffers.TF_NewBuffer()
        try:
            result = run(*args, options, metadata)
            told = config.RunMetadata.FromString(buffers.TF_GetBuffer(metadata))
        finally:
            buffers.TF_DeleteBuffer(options)
            buffers.TF_DeleteBuffer(metadata)
        summaries = others = 0
        for device in told.step_stats.dev_stats:
            for node in device.node_stats:
                wall = 1000 * (node.op_end_rel_micros - node.op_start_rel_micros)
                if _tells(node.timeline_label):
                    summaries += wall
                else:
                    others += wall
        self.kit.tallies.add("run-trace", frame, wall=summaries, symbol="summaries")
        self.kit.tallies.add("run-trace", frame, wall=others, symbol="others")
        return result


def _tells(label: str) -> bool:
    """`name = HistogramSummary(inputs)`"""
    return label.partition(" = ")[2].partition("(")[0].partition("V2")[0].endswith("Summary")
