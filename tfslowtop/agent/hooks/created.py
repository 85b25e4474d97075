"""Counts what is created at which line: models, optimizers, variables, datasets, iterators, functions,
savers.

Creating them once is normal; a line that keeps creating them during the steps is a finding.
"""

from __future__ import annotations

from types import FrameType, ModuleType
from typing import Any

from ..protocol.names import (
    TALLY_CHECKPOINT,
    TALLY_DATASET,
    TALLY_FUNCTION,
    TALLY_ITERATOR,
    TALLY_MODEL,
    TALLY_OPTIMIZER,
    TALLY_SAVER,
    TALLY_VARIABLE,
    TALLY_WIDE_VARIABLE,
    TallyKind,
)
from .base import Hook, find
from .keras_modules import is_keras_2, keras_2
from .patch import Wrap

_TF = "tensorflow.python."
#: By module: the classes to watch, and as what their instances count.
_TARGETS: dict[str, tuple[tuple[str, TallyKind], ...]] = {
    _TF + "eager.polymorphic_function.polymorphic_function": (("Function", TALLY_FUNCTION),),
    _TF + "ops.resource_variable_ops": (("ResourceVariable", TALLY_VARIABLE),),
    _TF + "data.ops.dataset_ops": (("DatasetV2", TALLY_DATASET),),
    _TF + "data.ops.iterator_ops": (("OwnedIterator", TALLY_ITERATOR),),
    _TF + "training.saver": (("Saver", TALLY_SAVER),),
    _TF + "training.optimizer": (("Optimizer", TALLY_OPTIMIZER),),
    _TF + "checkpoint.checkpoint": (("Checkpoint", TALLY_CHECKPOINT),),
    "keras.src.models.model": (("Model", TALLY_MODEL),),
    "keras.src.models.functional": (("Functional", TALLY_MODEL),),
    "keras.src.optimizers.base_optimizer": (("BaseOptimizer", TALLY_OPTIMIZER),),
}
_KERAS_2: dict[str, tuple[tuple[str, TallyKind], ...]] = {
    **dict.fromkeys(keras_2("engine.training"), (("Model", TALLY_MODEL),)),
    **dict.fromkeys(keras_2("optimizers.optimizer"), (("_BaseOptimizer", TALLY_OPTIMIZER),)),
    **dict.fromkeys(keras_2("optimizers.legacy.optimizer_v2"), (("OptimizerV2", TALLY_OPTIMIZER),)),
}
#: A Sequential builds a functional model inside, which is not another model to its author.
_PART_OF_ANOTHER = ("Functional", "sequential.py")
#: A function that loops over a dataset creates datasets of its own while it is traced.
_PART_OF_A_TRACE = (TALLY_DATASET, TALLY_ITERATOR)


#: Elements from which on the precision of a variable is worth a line.
_LARGE = 256


class CreatedHook(Hook):
    title = "objects created while running"
    modules = (*_TARGETS, *_KERAS_2)

    def install(self, module: ModuleType) -> None:
        targets = _TARGETS.get(module.__name__, ())
        if not targets and is_keras_2(module.__name__):
            targets = _KERAS_2[module.__name__]
        for name, what in targets:
            self.patch(find(module, name), "__init__", self._creating(what, name))

    def _creating(self, what: TallyKind, name: str) -> Wrap:
        context = self.context

        def report(frame: FrameType | None, args: tuple[Any, ...], wall: int) -> None:
            if what in _PART_OF_A_TRACE and context.tracing.here() is not None:
                return
            file = frame.f_code.co_filename if frame is not None else ""
            if (name, file[-len(_PART_OF_ANOTHER[1]) :]) != _PART_OF_ANOTHER:
                named = getattr(args[0], "_name", None) if what == TALLY_FUNCTION else None
                context.tallies.add(what, frame, wall, symbol=str(named or type(args[0]).__name__))
            if what == TALLY_VARIABLE:
                self._note_wide(args[0], frame)

        return context.reported(what, report)

    def _note_wide(self, variable: Any, frame: FrameType | None) -> None:
        """Count a large variable in double precision."""
        dtype: Any = getattr(variable, "dtype", None)
        shape = getattr(variable, "shape", None)
        elements = shape.num_elements() if shape is not None and shape.rank is not None else None
        if getattr(dtype, "name", "") in ("float64", "complex128") and (elements or 0) >= _LARGE:
            self.context.tallies.add(TALLY_WIDE_VARIABLE, frame, size=(elements or 0) * dtype.size)
