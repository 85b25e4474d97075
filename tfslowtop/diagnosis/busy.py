"""Where the main thread was seen, and with what it was busy there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .facts import Facts, TallyFacts

#: Modules in which a thread waits for another one.
_WAITS = ("queue", "threading", "multiprocessing", "concurrent", "selectors", "_queue")
#: Packages whose time is TensorFlow's own, or none of the program's doing.
_NOT_PYTHON = ("tensorflow", "keras", "tf_keras", "tracing", "gc", "python", "importlib", *_WAITS)
#: Modules that write for people or for later, and how the functions of theirs begin that do: the same modules read.
_KEEPS = (
    "file", "json", "csv", "pickle", "logging", "matplotlib", "PIL", "imageio", "h5py", "numpy", "pandas", "sqlite3", "shelve",
    "tensorboard", "tensorboardX", "wandb", "mlflow", "tensorflow.python.summary", "tensorflow.python.ops.summary", "tensorflow.python.ops.io_ops", "tensorflow.python.ops.gen_io_ops",
)  # fmt: skip
_WRITES = (
    "add_", "critical", "debug", "dump", "error", "flush", "imsave", "imwrite", "info", "log", "save", "to_", "warn",
    "write",
)  # fmt: skip

#: The share of a function's time that is writing from which on all that it does is for that; and the share that
#: is TensorFlow's from which on it does something else as well.
LOGS = 0.2

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Busy:
    package: str
    """Whose code ran; `user` for Python of the program's own, and for C that it called directly."""
    callee: str
    """What the user's line called, and the module of that."""
    module: str
    function: int
    """The first line of the user's function in which that is; 0 at the top of a file."""

    @property
    def waits(self) -> bool:
        return self.package in _WAITS and not self.writes

    @property
    def writes(self) -> bool:
        return self.callee.startswith(_WRITES) and self.module.startswith(_KEEPS)

    @property
    def python(self) -> bool:
        """Python of the program's own, or of a library that it calls for other things than to write or wait."""
        return self.package not in _NOT_PYTHON and not self.writes


def busy(c: TallyFacts) -> Busy:
    return Busy(c.package, c.symbol, c.module or c.package, c.function_line)


#: The part of the looks at a line that come in the second half of the steps, where that goes on.
GOES_ON = 0.1


def looks(facts: Facts, late: float = GOES_ON) -> Iterator[tuple[TallyFacts, Busy]]:
    """At lines of the program's own, of what goes on in the second half of the steps; of all, if `late` is below 0."""
    found = (c for c in facts.tallies_of("where") if c.late > late and c.is_users)
    return ((c, busy(c)) for c in found)


def seen(facts: Facts, where: Callable[[Busy], bool], late: float = GOES_ON) -> dict[Place, float]:
    """Seconds by line, the dearest first."""
    lines: dict[Place, float] = {}
    for c, b in looks(facts, late):
        if where(b):
            lines[c.file, c.line] = lines.get((c.file, c.line), 0.0) + c.seconds
    return dict(sorted(lines.items(), key=lambda line: -line[1]))


def loggers(facts: Facts) -> dict[Place, float]:
    """Functions of the program's that write, and what they take with all that they compute for it."""
    every: dict[Place, float] = {}
    writes: dict[Place, float] = {}
    runs: dict[Place, float] = {}
    for c, b in looks(facts):
        place = (c.file, b.function)
        every[place] = every.get(place, 0.0) + c.seconds
        kind = writes if b.writes else runs if not b.python else None
        if kind is not None:
            kind[place] = kind.get(place, 0.0) + c.seconds
    return {
        place: seconds
        for place, seconds in every.items()
        if place[1] and writes.get(place, 0.0) >= LOGS * seconds and runs.get(place, 0.0) < LOGS * seconds
    }
