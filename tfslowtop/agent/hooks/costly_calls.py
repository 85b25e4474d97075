"""Calls that are fine once and expensive in a loop, by line: load, save, map_fn, a seeded draw."""

from __future__ import annotations

import sys
from types import FrameType, ModuleType
from typing import Any

from ..protocol.names import (
    TALLY_COMPILE,
    TALLY_FLUSH,
    TALLY_LOAD,
    TALLY_MAP_FN,
    TALLY_SAVE,
    TALLY_SEEDED_DRAW,
    TallyKind,
)
from .base import Hook, find
from .keras_modules import is_keras_2, keras_2
from .patch import MissingTarget, Wrap

_TF = "tensorflow.python."
#: By module: functions and methods to count, and as what.
_TARGETS: dict[str, tuple[tuple[str, TallyKind], ...]] = {
    "keras.src.trainers.trainer": (("Trainer.compile", TALLY_COMPILE),),
    "keras.src.saving.saving_api": (("load_model", TALLY_LOAD), ("save_model", TALLY_SAVE)),
    "keras.src.models.model": (
        ("Model.save", TALLY_SAVE),
        ("Model.save_weights", TALLY_SAVE),
        ("Model.load_weights", TALLY_LOAD),
    ),
    _TF + "saved_model.load": ((TALLY_LOAD, TALLY_LOAD),),
    _TF + "checkpoint.checkpoint": (("Checkpoint.save", TALLY_SAVE), ("Checkpoint.write", TALLY_SAVE)),
    _TF + "checkpoint.checkpoint_management": (("CheckpointManager.save", TALLY_SAVE),),
    _TF + "training.saver": (("Saver.save", TALLY_SAVE), ("Saver.restore", TALLY_LOAD)),
    _TF + "ops.map_fn": (("map_fn", TALLY_MAP_FN),),
    # Called by each random op that runs eagerly under a global seed.
    _TF + "eager.context": (("Context._internal_operation_seed", TALLY_SEEDED_DRAW),),
    _TF + "ops.summary_ops_v2": ((TALLY_FLUSH, TALLY_FLUSH), ("_ResourceSummaryWriter.flush", TALLY_FLUSH)),
}
_KERAS_2: dict[str, tuple[tuple[str, TallyKind], ...]] = {
    **dict.fromkeys(
        keras_2("engine.training"),
        (
            ("Model.compile", TALLY_COMPILE),
            ("Model.save", TALLY_SAVE),
            ("Model.save_weights", TALLY_SAVE),
            ("Model.load_weights", TALLY_LOAD),
        ),
    ),
    **dict.fromkeys(keras_2("saving.saving_api"), (("load_model", TALLY_LOAD),)),
}


class CostlyCallsHook(Hook):
    title = "compiling, loading and saving"
    modules = tuple({**_KERAS_2, **_TARGETS})

    def install(self, module: ModuleType) -> None:
        targets = _TARGETS.get(module.__name__, ())
        if is_keras_2(module.__name__):
            targets = _KERAS_2.get(module.__name__, targets)
        for name, what in targets:
            *owner, method = name.split(".")
            try:
                self.patch(find(module, *owner) if owner else module, method, self._calling(what, name))
            except MissingTarget:
                pass  # versions differ in which of these exist; each is one witness of several

    def _traced_line(self) -> tuple[str, int] | None:
        """Find the user's line behind the code that AutoGraph generated from it."""
        stack = getattr(sys.modules.get("tensorflow.python.util.tf_stack"), "extract_stack", None)
        for frame in reversed(list(stack())) if stack else ():
            if not self.context.ownership.is_library(frame.filename):
                return frame.filename, frame.lineno or 0
        return None

    def _calling(self, what: TallyKind, name: str) -> Wrap:
        context = self.context

        def report(frame: FrameType | None, args: tuple[Any, ...], wall: int) -> None:
            place = self._traced_line() if context.tracing.here() is not None else None
            if place is not None:
                context.tallies.put(what, name, *place, 1, wall)
            else:
                context.tallies.add(what, frame, wall, symbol=name)

        return context.reported(what, report)
