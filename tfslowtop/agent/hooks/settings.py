"""Settings that slow down a whole program, and the line that makes them.

A switch left over from debugging, or threads limited for the sake of another machine, is found far from the
step that pays for it.
"""

from __future__ import annotations

import os
import sys
from types import FrameType, ModuleType
from typing import Any

from ..code.source_lines import source_lines
from ..protocol.names import (
    SETTING_EAGER,
    SETTING_FLOATX,
    SETTING_INTRA_OP,
    TALLY_SETTING,
    TALLY_THREAD_LIMIT,
)
from .base import Hook, find, tensorflow_context
from .patch import Prefix

#: By module: a plain function that makes a setting, and its parameter.
_TARGETS = {
    "tensorflow.python.eager.polymorphic_function.eager_function_run": (SETTING_EAGER, "run_eagerly"),
    "tensorflow.python.framework.config": (SETTING_INTRA_OP, "num_threads"),
    "keras.src.backend.config": (SETTING_FLOATX, "value"),
}
#: The variable by which TensorFlow limits the threads of an op, where the program does not.
_VARIABLE = "TF_NUM_INTRAOP_THREADS"


class SettingsHook(Hook):
    title = "settings of the whole program"
    modules = tuple(_TARGETS)

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self._set: dict[str, tuple[int, str, int]] = {}
        """The last value of each setting, and the line that made it."""
        self._looked = False

    def install(self, module: ModuleType) -> None:
        name, parameter = _TARGETS[module.__name__]
        self.patches.append(Prefix(find(module, name), lambda: self._setting(name, parameter)))

    def tick(self, now: int) -> None:
        """Compare the threads with the cores, once TensorFlow has made its choice."""
        if self._looked or tensorflow_context() is None:
            return
        self._looked = True
        limit, file, line = self._set.get(SETTING_INTRA_OP) or self._from_environment()
        cores = _cores()
        if 0 < limit < cores:
            self.context.tallies.put(TALLY_THREAD_LIMIT, SETTING_INTRA_OP, file, line, cores, 0, limit)

    def _setting(self, name: str, parameter: str) -> None:
        """Record who sets what: `sys._getframe` is ours, then the lambda, the function, and its caller."""
        try:
            function: FrameType | None = sys._getframe(2)
            value = _number(function.f_locals.get(parameter)) if function is not None else 0
            file, line = self.context.ownership.user_line(function)
            if file:
                self._set[name] = (value, file, line)
                self.context.tallies.put(TALLY_SETTING, name, file, line, 1, 0, value)
        except Exception as error:
            self.context.report_error(error)

    def _from_environment(self) -> tuple[int, str, int]:
        """Return the limit from the environment, and the user's line that mentions the variable."""
        text = os.environ.get(_VARIABLE, "")
        limit = int(text) if text.isdigit() else 0
        for module in list(sys.modules.values()) if limit else ():
            file = vars(module).get("__file__") if isinstance(module, ModuleType) else None
            if type(file) is not str or self.context.ownership.is_library(file):
                continue
            for number, line in enumerate(source_lines(file), 1):
                if _VARIABLE in line:
                    return limit, file, number
        return limit, "", 0


def _number(value: Any) -> int:
    """Express the value of a setting as a number: a switch, a count, the bits of a float type."""
    if type(value) in (bool, int):
        return max(0, int(value))
    if type(value) is str:
        digits = value[len(value.rstrip("0123456789")) :]
        return int(digits or 0)
    return 0


def _cores() -> int:
    """Return the cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return os.cpu_count() or 1
