"""Random numbers that are drawn eagerly under a global seed: each leaves a kernel in TensorFlow's cache."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .hook import Hook, find


class SeedHook(Hook):
    title = "random numbers under a global seed"
    modules = ("tensorflow.python.eager.context",)

    def place(self, module: ModuleType) -> None:
        self.patch(find(module, "Context"), "_internal_operation_seed", self._drawing)

    def _drawing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        kit, getframe = self.kit, sys._getframe

        def _internal_operation_seed(context: Any) -> Any:
            if not kit.quiet[0] and context.executing_eagerly():
                try:
                    kit.tallies.add("seeded-draw", getframe().f_back)
                except Exception as error:
                    kit.oops(error)
            return original(context)

        return _internal_operation_seed
