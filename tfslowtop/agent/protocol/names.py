"""The names that travel inside events: kinds of streams, gauges, what tallies count, why a trace happened.

Every layer compares with these constants, so a misspelt name is an error for mypy. They are plain strings at
run time: they travel as they are, cost nothing in the watched process, and old recordings still match.
"""

from __future__ import annotations

from typing import Final, NewType

StreamKind = NewType("StreamKind", str)
GaugeName = NewType("GaugeName", str)
TallyKind = NewType("TallyKind", str)
TraceReason = NewType("TraceReason", str)
PhaseName = NewType("PhaseName", str)
FixStatus = NewType("FixStatus", str)
Activity = NewType("Activity", str)

# What a stream is.

STREAM_KERNEL: Final = StreamKind("kernel")
"""A scenario's iterations."""
STREAM_STEP: Final = StreamKind("step")
"""The stream that is the step is announced again under this kind."""
STREAM_LOOP: Final = StreamKind("loop")
"""A loop of the user's code that makes hooked calls."""
STREAM_MARKED: Final = StreamKind("own")
"""Iterations that the program marks itself with `tfslowtop.step()`."""
STREAM_NAMED: Final = StreamKind("call")
"""Calls of the user's function that `--step` names."""
STREAM_FIT: Final = StreamKind("fit")
"""The batches of Keras' fit; STREAM_FIT_CALL is the calls of fit."""
STREAM_FIT_CALL: Final = StreamKind("fit-call")
STREAM_EVALUATE: Final = StreamKind("evaluate")
STREAM_PREDICT: Final = StreamKind("predict")
STREAM_TRAIN_ON_BATCH: Final = StreamKind("train-on-batch")
STREAM_TEST_ON_BATCH: Final = StreamKind("test-on-batch")
STREAM_PREDICT_ON_BATCH: Final = StreamKind("predict-on-batch")
STREAM_MODEL_CALL: Final = StreamKind("model-call")
STREAM_FUNCTION: Final = StreamKind("function")
"""Calls of a tf.function; STREAM_LIBRARY_FUNCTION is a library's function that a library calls."""
STREAM_LIBRARY_FUNCTION: Final = StreamKind("library-function")
STREAM_SESSION_RUN: Final = StreamKind("session-run")
STREAM_GRADIENT: Final = StreamKind("gradient")
STREAM_APPLY: Final = StreamKind("apply")
"""An optimizer applies gradients."""
STREAM_DATA_WAIT: Final = StreamKind("data-wait")
STREAM_PYTHON_OP: Final = StreamKind("python-op")
"""Python that TensorFlow calls back: the user's or a library's, in the step or in an input pipeline."""
STREAM_LIBRARY_PYTHON_OP: Final = StreamKind("library-python-op")
STREAM_DATA_PYTHON_OP: Final = StreamKind("data-python-op")
STREAM_DATA_LIBRARY_PYTHON_OP: Final = StreamKind("data-library-python-op")
STREAM_GC: Final = StreamKind("gc")
"""Pauses of Python's garbage collector."""
STREAM_OTHERS: Final = StreamKind("other")
"""All streams that have no figures of their own, counted as one."""

# Gauges that the target reads.

GAUGE_CPU_SECONDS: Final = GaugeName("cpu seconds")
GAUGE_GC_SECONDS: Final = GaugeName("gc pause seconds")
GAUGE_GC_COLLECTIONS: Final = GaugeName("gc collections")
GAUGE_EAGER_OPS: Final = GaugeName("eager ops per second")
GAUGE_RUN_EAGERLY: Final = GaugeName("functions run eagerly")
"""1 once the program has called tf.config.run_functions_eagerly(True)."""
GAUGE_OPEN_SESSIONS: Final = GaugeName("open sessions")
GAUGE_GRAPH_OPS: Final = GaugeName("graph ops")
GAUGE_TENSORS_KEPT: Final = GaugeName("tensors kept")
"""Tensors that the program's containers have gained; summed up in the watcher."""

# Gauges that the sensors read from outside; `sensors.gauges` says what each means and in which unit.

GAUGE_STATE: Final = GaugeName("state")
GAUGE_RSS: Final = GaugeName("rss")
GAUGE_USS: Final = GaugeName("uss")
GAUGE_SWAP: Final = GaugeName("swap")
GAUGE_CPU: Final = GaugeName("cpu")
GAUGE_CPU_WAIT: Final = GaugeName("cpu.wait")
GAUGE_CPUS_ALLOWED: Final = GaugeName("cpu.allowed")
GAUGE_THREADS: Final = GaugeName("threads")
GAUGE_VOLUNTARY_SWITCHES: Final = GaugeName("switches.voluntary")
GAUGE_INVOLUNTARY_SWITCHES: Final = GaugeName("switches.involuntary")
GAUGE_MINOR_FAULTS: Final = GaugeName("faults.minor")
GAUGE_MAJOR_FAULTS: Final = GaugeName("faults.major")
GAUGE_DISK_READ: Final = GaugeName("disk.read")
GAUGE_CHILDREN: Final = GaugeName("children")
GAUGE_CHILDREN_RSS: Final = GaugeName("children.rss")
GAUGE_CHILDREN_CPU: Final = GaugeName("children.cpu")
GAUGE_MACHINE_CPUS: Final = GaugeName("machine.cpus")
GAUGE_MACHINE_CPU: Final = GaugeName("machine.cpu")
GAUGE_MACHINE_OTHERS: Final = GaugeName("machine.others")
GAUGE_MACHINE_STEAL: Final = GaugeName("machine.steal")
GAUGE_MACHINE_LOAD: Final = GaugeName("machine.load")
GAUGE_MACHINE_MEMORY: Final = GaugeName("machine.memory")
GAUGE_MACHINE_SWAP: Final = GaugeName("machine.swap")
GAUGE_PRESSURE_CPU: Final = GaugeName("pressure.cpu")
GAUGE_PRESSURE_MEMORY: Final = GaugeName("pressure.memory")
GAUGE_PRESSURE_IO: Final = GaugeName("pressure.io")
GAUGE_CGROUP_QUOTA: Final = GaugeName("cgroup.cpu.quota")
GAUGE_CGROUP_THROTTLED: Final = GaugeName("cgroup.cpu.throttled")
GAUGE_CGROUP_WAITED: Final = GaugeName("cgroup.cpu.waited")
GAUGE_CGROUP_MEMORY: Final = GaugeName("cgroup.memory")
GAUGE_CGROUP_WORKING_MEMORY: Final = GaugeName("cgroup.memory.working")
GAUGE_CGROUP_MEMORY_LIMIT: Final = GaugeName("cgroup.memory.limit")
GAUGE_CGROUP_LIMIT_HITS: Final = GaugeName("cgroup.memory.hits")
GAUGE_CGROUP_REFAULTS: Final = GaugeName("cgroup.memory.refaults")
GAUGE_SENSOR_HOST: Final = GaugeName("sensor.host")
GAUGE_SENSOR_GPU: Final = GaugeName("sensor.gpu")

#: How the names of gauges about one GPU begin: as the driver sees it, and as TensorFlow's allocator sees it.
GPU_PREFIX: Final = "gpu."
TF_GPU_PREFIX: Final = "tf.gpu."


# What is read of one GPU: how the names of its gauges end. Among the readings of a single device these are
# the whole names, and those of TensorFlow's allocator begin with `tf.`.

GPU_MEMORY: Final = GaugeName("memory")
GPU_MEMORY_TOTAL: Final = GaugeName("memory.total")
GPU_MEMORY_OWN: Final = GaugeName("memory.own")
GPU_MEMORY_OTHERS: Final = GaugeName("memory.others")
GPU_UTILISATION: Final = GaugeName("utilisation")
GPU_UTILISATION_OWN: Final = GaugeName("utilisation.own")
GPU_UTILISATION_OTHERS: Final = GaugeName("utilisation.others")
GPU_CLOCK: Final = GaugeName("clock")
GPU_CLOCK_MAX: Final = GaugeName("clock.max")
GPU_THROTTLE: Final = GaugeName("throttle")
GPU_TEMPERATURE: Final = GaugeName("temperature")
GPU_POWER: Final = GaugeName("power")
GPU_POWER_LIMIT: Final = GaugeName("power.limit")
GPU_PCIE_RX: Final = GaugeName("pcie.rx")
GPU_PCIE_TX: Final = GaugeName("pcie.tx")
GPU_LOST: Final = GaugeName("lost")
TF_GPU_MEMORY: Final = GaugeName("tf.memory")
TF_GPU_PEAK: Final = GaugeName("tf.peak")
TF_GPU_LIMIT: Final = GaugeName("tf.limit")


def gpu_gauge(label: str, quantity: GaugeName) -> GaugeName:
    """Name a gauge that the driver reads for a device: `gpu.0.memory`, `gpu.0:1.memory` for a MIG slice."""
    return GaugeName(f"{GPU_PREFIX}{label}.{quantity}")


def tf_gpu_gauge(number: int | str, quantity: str) -> GaugeName:
    """Name a gauge of TensorFlow's own allocator for a device: `tf.gpu.0.memory`."""
    return GaugeName(f"{TF_GPU_PREFIX}{number}.{quantity}")


# What a tally counts.

TALLY_WHERE: Final = TallyKind("where")
"""Time in which the main thread was seen at a line."""
TALLY_WHERE_CALLED_BACK: Final = TallyKind("where-called-back")
"""Time in which another thread was seen in a Python function that TensorFlow had called back."""
TALLY_EAGER_OP: Final = TallyKind("eager-op-sample")
TALLY_EAGER_OP_LOOP: Final = TallyKind("eager-op-turn")
"""Sampled eager ops, by the line of each loop around them."""
TALLY_HOST_SYNC: Final = TallyKind("host-sync")
TALLY_HOST_COPY: Final = TallyKind("host-copy")
TALLY_GRAPH_OP: Final = TallyKind("graph-op")
TALLY_GC_PAUSE: Final = TallyKind("gc-pause")
TALLY_CALLBACK: Final = TallyKind("callback")
TALLY_ONE_ITEM: Final = TallyKind("one-item")
"""A model was called with an array of one item that does not depend on an earlier result."""
TALLY_ONE_ROW: Final = TallyKind("one-row")
"""A model was called with the row that follows the one of the call before."""
TALLY_SESSION: Final = TallyKind("session")
TALLY_SUMMARIES: Final = TallyKind("summaries")
TALLY_RUN_TRACE: Final = TallyKind("run-trace")
"""What a traced Session.run spent its time on; the symbol is one of the RUN_… constants."""
TALLY_TRACE_OPS: Final = TallyKind("trace-ops")
TALLY_XLA_SHAPE: Final = TallyKind("xla-shape")
TALLY_KEPT_TENSOR: Final = TallyKind("kept-tensor")
TALLY_KEPT_OBJECT: Final = TallyKind("kept-object")
TALLY_GROWN_ARRAY: Final = TallyKind("grown-array")
TALLY_FUNCTION: Final = TallyKind("function")
TALLY_VARIABLE: Final = TallyKind("variable")
TALLY_DATASET: Final = TallyKind("dataset")
TALLY_ITERATOR: Final = TallyKind("iterator")
TALLY_SAVER: Final = TallyKind("saver")
TALLY_OPTIMIZER: Final = TallyKind("optimizer")
TALLY_CHECKPOINT: Final = TallyKind("checkpoint")
TALLY_MODEL: Final = TallyKind("model")
TALLY_COMPILE: Final = TallyKind("compile")
TALLY_LOAD: Final = TallyKind("load")
TALLY_SAVE: Final = TallyKind("save")
TALLY_MAP_FN: Final = TallyKind("map-fn")
TALLY_SEEDED_DRAW: Final = TallyKind("seeded-draw")
TALLY_FLUSH: Final = TallyKind("flush")
TALLY_SETTING: Final = TallyKind("setting")
"""A line made a setting for the whole program; the symbol is one of SETTING_…, the size its value."""
TALLY_THREAD_LIMIT: Final = TallyKind("thread-limit")
"""Threads are limited to fewer than the cores: the count is the cores, the size the limit."""

TALLY_EVALUATES: Final = TallyKind("evaluates")
"""A loop computes without ever changing a model: the count is its iterations, the size how often it was
entered, and `inside` says if it takes elements of a dataset."""
TALLY_GRAPH_WORK: Final = TallyKind("graph-work")
"""A traced function, at its first line: the count is its ops, the size the nanoseconds that a core needs for
them at most. It is missing where that is unknown."""
TALLY_WIDE: Final = TallyKind("wide")
"""Double precision enters a graph that mostly computes in it: the symbol is one of WIDE_…, `module` and
`function_line` are those of the function, and the size is the elements."""
TALLY_WIDE_VARIABLE: Final = TallyKind("wide-variable")
TALLY_WIDE_ARRAY: Final = TallyKind("wide-array")
"""A line creates a variable or pushes an array in double precision; the size is bytes."""
TALLY_DENSE_ROWS: Final = TallyKind("dense-rows")
"""A graph gathers some rows of a table and computes with all: the symbol is its shape, the count the ops that
do, the size their share of the work in percent; `module` and `function_line` are those of the function."""

WIDE_ARGUMENT: Final = "argument"
WIDE_ARRAY: Final = "array"
WIDE_VARIABLE: Final = "variable"
WIDE_LINE: Final = "line"

SETTING_EAGER: Final = "run_functions_eagerly"
SETTING_INTRA_OP: Final = "set_intra_op_parallelism_threads"
SETTING_FLOATX: Final = "set_floatx"

RUN_SUMMARIES: Final = "summaries"
RUN_OTHER_OPS: Final = "others"
RUN_FEEDING: Final = "feeding"
RUN_PLAIN: Final = "without"
"""The run had neither summaries nor large feeds."""
FEED_DICT: Final = "feed_dict"
"""The symbol of a TALLY_HOST_COPY that a Session was fed."""

# Whose code runs at a line, where that is no package: the `package` of a TALLY_WHERE.

PACKAGE_USER: Final = "user"
"""The user's own Python, or C that it calls directly."""
PACKAGE_TRACING: Final = "tracing"
"""A tf.function is being traced."""
PACKAGE_UNKNOWN: Final = "python"
PACKAGE_NUMPY: Final = "numpy"
PACKAGE_TENSORFLOW: Final = "tensorflow"
PACKAGE_KERAS: Final = "keras"

# What the main thread does at a moment. Every second of the account of time belongs to one of these.

ACTIVITY_TRACE: Final = Activity("trace")
"""Tracing and compiling: the whole call of a function that is traced, its first run included."""
ACTIVITY_GRAPH: Final = Activity("graph")
"""Compiled functions and Session.run."""
ACTIVITY_EAGER: Final = Activity("eager")
"""TensorFlow outside compiled functions: eager ops, gradients, variables."""
ACTIVITY_DATA: Final = Activity("data")
"""Waiting for the next element of a dataset."""
ACTIVITY_DEVICE: Final = Activity("device")
"""Pulling results to the host and pushing arrays to the device."""
ACTIVITY_PYTHON_OP: Final = Activity("python-op")
"""A compiled function waits for Python that it calls back."""
ACTIVITY_BUILD: Final = Activity("build")
"""Creating or loading models, optimizers, variables, datasets and Sessions."""
ACTIVITY_FRAMEWORK: Final = Activity("framework")
"""Keras' own Python."""
ACTIVITY_WRITE: Final = Activity("write")
"""Logs, checkpoints, summaries, files, print."""
ACTIVITY_GC: Final = Activity("gc")
ACTIVITY_OWN: Final = Activity("own")
"""The user's Python, and C that it calls directly."""
ACTIVITY_LIBRARY: Final = Activity("library")
"""NumPy and other libraries."""
ACTIVITY_WAIT: Final = Activity("wait")
"""Waiting for another thread or process."""
ACTIVITY_UNKNOWN: Final = Activity("unknown")
"""Nothing is known about it: no sample was taken."""

ACTIVITIES: Final = (
    ACTIVITY_TRACE,
    ACTIVITY_GRAPH,
    ACTIVITY_EAGER,
    ACTIVITY_DATA,
    ACTIVITY_DEVICE,
    ACTIVITY_PYTHON_OP,
    ACTIVITY_BUILD,
    ACTIVITY_FRAMEWORK,
    ACTIVITY_WRITE,
    ACTIVITY_GC,
    ACTIVITY_OWN,
    ACTIVITY_LIBRARY,
    ACTIVITY_WAIT,
    ACTIVITY_UNKNOWN,
)

# What a line does through C that no frame shows: the symbol of a TALLY_WHERE.

CALLEE_WRITE: Final = "write"
CALLEE_JOIN: Final = "join"
"""It copies an array into a longer one of the same name."""
MODULE_FILE: Final = "file"
"""The module of CALLEE_WRITE."""

# Why a tf.function was traced. The first ones are causes of findings; nobody is to blame for the others.

REASON_PYTHON_VALUE: Final = TraceReason("retrace-python-value")
REASON_SHAPE: Final = TraceReason("retrace-shape")
REASON_DTYPE: Final = TraceReason("retrace-dtype")
REASON_STRUCTURE: Final = TraceReason("retrace-structure")
REASON_OBJECT: Final = TraceReason("retrace-object")
REASON_RECREATED: Final = TraceReason("function-recreated")
REASON_FIRST: Final = TraceReason("first-trace")
REASON_SECOND: Final = TraceReason("second-trace")
"""The trace after the one in which variables were created."""
REASON_NEW_CONTEXT: Final = TraceReason("new-context")
"""Another graph, device or strategy around the call."""
REASON_NEW_INSTANCE: Final = TraceReason("new-instance")
"""The first trace of a method of another instance."""

# What the target is doing.

PHASE_STARTING: Final = PhaseName("starting")
PHASE_IMPORTING: Final = PhaseName("importing")
PHASE_SETUP: Final = PhaseName("setup")
PHASE_WARM_UP: Final = PhaseName("warm-up")
PHASE_RUNNING: Final = PhaseName("running")
PHASE_DONE: Final = PhaseName("done")

# What became of a request to switch a fix.

FIX_ON: Final = FixStatus("on")
FIX_OFF: Final = FixStatus("off")
FIX_REFUSED: Final = FixStatus("refused")
"""It cannot be applied, and nothing was changed."""
FIX_ROLLED_BACK: Final = FixStatus("rolled back")
"""It was on, and was removed because of an error or a different result."""
