"""Says what the main thread was doing when it was seen at a line, and names it for people."""

from __future__ import annotations

from ..agent.protocol.events import Tally
from ..agent.protocol.names import (
    ACTIVITY_BUILD,
    ACTIVITY_DATA,
    ACTIVITY_DEVICE,
    ACTIVITY_EAGER,
    ACTIVITY_FRAMEWORK,
    ACTIVITY_GC,
    ACTIVITY_GRAPH,
    ACTIVITY_LIBRARY,
    ACTIVITY_OWN,
    ACTIVITY_PYTHON_OP,
    ACTIVITY_TRACE,
    ACTIVITY_UNKNOWN,
    ACTIVITY_WAIT,
    ACTIVITY_WRITE,
    MODULE_FILE,
    PACKAGE_KERAS,
    PACKAGE_TENSORFLOW,
    PACKAGE_USER,
    TALLY_FLUSH,
    TALLY_SAVE,
    Activity,
)

#: For the legend of the bar: short, and in the words of the field.
NAMES: dict[Activity, str] = {
    ACTIVITY_TRACE: "tracing",
    ACTIVITY_GRAPH: "compiled graphs",
    ACTIVITY_EAGER: "eager ops",
    ACTIVITY_DATA: "waiting for data",
    ACTIVITY_DEVICE: "copies to and from the device",
    ACTIVITY_PYTHON_OP: "Python ops",
    ACTIVITY_BUILD: "building models and datasets",
    ACTIVITY_FRAMEWORK: "Keras",
    ACTIVITY_WRITE: "writing",
    ACTIVITY_GC: "garbage collector",
    ACTIVITY_OWN: "your Python",
    ACTIVITY_LIBRARY: "NumPy and other libraries",
    ACTIVITY_WAIT: "waiting for other threads",
    ACTIVITY_UNKNOWN: "unknown",
}

#: Modules in which a thread waits for another one.
_WAITS = ("queue", "threading", "multiprocessing", "concurrent", "selectors", "_queue")
_KERAS = (PACKAGE_KERAS, "tf_keras")
#: Modules that write logs and files, and the prefixes of their functions that do: the same modules also read.
_KEEPS = (
    MODULE_FILE, "json", "csv", "pickle", "logging", "matplotlib", "PIL", "imageio", "h5py", "numpy",
    "pandas", "sqlite3", "shelve", "tensorboard", "tensorboardX", "wandb", "mlflow",
    "tensorflow.python.summary", "tensorflow.python.ops.summary", "tensorflow.python.ops.io_ops",
    "tensorflow.python.ops.gen_io_ops",
)  # fmt: skip
_WRITES = (
    "add_", "critical", "debug", "dump", "error", "flush", "imsave", "imwrite", "info", "log", "save", "to_",
    "warn", "write",
)  # fmt: skip
#: Functions of tensors that read their values, and those that make a tensor of an array.
_COPIES = (
    "numpy", "_numpy", "__array__", "__float__", "__int__", "__bool__", "__index__", "__format__", "__repr__",
    "__str__", "tolist", "item", "convert_to_eager_tensor", "constant", "_constant_impl",
    "_constant_eager_impl", "convert_to_tensor", "convert_to_tensor_v2_with_dispatch", "convert_to_tensor_v2",
)  # fmt: skip


def writes(callee: str, module: str) -> bool:
    """Whether a function writes a log or a file."""
    return callee.startswith(_WRITES) and module.startswith(_KEEPS)


def waits(package: str) -> bool:
    """Whether a package is one in which a thread waits for another one."""
    return package in _WAITS


def activity_of(seen: Tally) -> Activity:
    """Classify a sample of the main thread that was taken outside every timed call."""
    if seen.inside in (TALLY_SAVE, TALLY_FLUSH) or writes(seen.symbol, seen.module or seen.package):
        return ACTIVITY_WRITE
    if seen.inside:
        return ACTIVITY_BUILD
    if seen.package == PACKAGE_USER:
        return ACTIVITY_LIBRARY if seen.native else ACTIVITY_OWN
    if seen.package in _KERAS:
        return ACTIVITY_FRAMEWORK
    if waits(seen.package):
        return ACTIVITY_WAIT
    if seen.package == PACKAGE_TENSORFLOW:
        return ACTIVITY_DEVICE if seen.symbol in _COPIES else ACTIVITY_EAGER
    return ACTIVITY_LIBRARY
