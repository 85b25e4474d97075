"""How long the program waits for the next element of a dataset."""

from __future__ import annotations

from types import FrameType, ModuleType
from typing import Any

from ..loops import DATA, Loop
from .hook import Hook, find
from .updates import eager


class DataHook(Hook):
    title = "waiting for tf.data"
    modules = ("tensorflow.python.data.ops.iterator_ops",)

    def place(self, module: ModuleType) -> None:
        iterator = find(module, "OwnedIterator")
        for name in ("__next__", "get_next"):
            wrap = self.kit.timed(self._of, DATA, ends=("StopIteration", "OutOfRangeError"), when=eager)
            self.patch(iterator, name, wrap)

    def _of(self, frame: FrameType | None, args: tuple[Any, ...]) -> Loop:
        return self.kit.site("data-wait", "next element", frame)
