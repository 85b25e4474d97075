"""Calls that are fine once and dear in a loop, by the line that makes them: load, save, map_fn, a draw."""

from __future__ import annotations

import sys
from types import FrameType, ModuleType
from typing import Any

from .base import Hook, find
from .patch import NoPlace, Wrap

_TF = "tensorflow.python."
#: Module: functions and methods to count, and what each is called.
_PLACES: dict[str, tuple[tuple[str, str], ...]] = {
    "keras.src.trainers.trainer": (("Trainer.compile", "compile"),),
    "keras.src.saving.saving_api": (("load_model", "load"), ("save_model", "save")),
    "keras.src.models.model": (
        ("Model.save", "save"),
        ("Model.save_weights", "save"),
        ("Model.load_weights", "load"),
    ),
    "tf_keras.src.engine.training": (("Model.compile", "compile"), ("Model.save", "save")),
    _TF + "saved_model.load": (("load", "load"),),
    _TF + "checkpoint.checkpoint": (("Checkpoint.save", "save"), ("Checkpoint.write", "save")),
    _TF + "checkpoint.checkpoint_management": (("CheckpointManager.save", "save"),),
    _TF + "training.saver": (("Saver.save", "save"), ("Saver.restore", "load")),
    _TF + "ops.map_fn": (("map_fn", "map-fn"),),
    # Asked for by each random op that runs eagerly under a global seed.
    _TF + "eager.context": (("Context._internal_operation_seed", "seeded-draw"),),
    _TF + "ops.summary_ops_v2": (("flush", "flush"), ("_ResourceSummaryWriter.flush", "flush")),
}


class CountedHook(Hook):
    title = "what is compiled, loaded and saved"
    modules = tuple(_PLACES)

    def place(self, module: ModuleType) -> None:
        for name, what in _PLACES[module.__name__]:
            *owner, method = name.split(".")
            try:
                self.patch(find(module, *owner) if owner else module, method, self._calling(what, name))
            except NoPlace:
                pass  # versions differ in which of these there are; each is one witness of several

    def _traced_line(self) -> tuple[str, int] | None:
        """The user's line behind the code that AutoGraph made of it."""
        stack = getattr(sys.modules.get("tensorflow.python.util.tf_stack"), "extract_stack", None)
        for frame in reversed(list(stack())) if stack else ():
            if not self.kit.places.is_library(frame.filename):
                return frame.filename, frame.lineno or 0
        return None

    def _calling(self, what: str, name: str) -> Wrap:
        kit = self.kit

        def tell(frame: FrameType | None, args: tuple[Any, ...], wall: int) -> None:
            place = self._traced_line() if kit.tracing.here() is not None else None
            if place is not None:
                kit.tallies.put(what, name, *place, 1, wall)
            else:
                kit.tallies.add(what, frame, wall, symbol=name)

        return kit.noted(what, tell)
