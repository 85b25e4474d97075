"""The ids of causes, as typed names.

They are defined here and not in the modules of their detectors because causes refer to each other, in circles:
`Cause.explained_by` would make those modules import each other.
"""

from __future__ import annotations

from typing import NewType

CauseId = NewType("CauseId", str)

RETRACE_PYTHON_VALUE = CauseId("retrace-python-value")
RETRACE_SHAPE = CauseId("retrace-shape")
RETRACE_DTYPE = CauseId("retrace-dtype")
RETRACE_STRUCTURE = CauseId("retrace-structure")
RETRACE_OBJECT = CauseId("retrace-object")
FUNCTION_RECREATED = CauseId("function-recreated")
XLA_RECOMPILE = CauseId("xla-recompile")
TRACE_SLOW = CauseId("trace-slow")
GRAPH_GROWTH = CauseId("graph-growth")
SESSION_PER_STEP = CauseId("session-per-step")
SESSION_LEAK = CauseId("session-leak")
MODEL_RECREATED = CauseId("model-recreated")
OPTIMIZER_RECREATED = CauseId("optimizer-recreated")
VARIABLE_RECREATED = CauseId("variable-recreated")
DATASET_RECREATED = CauseId("dataset-recreated")
EAGER_STEP = CauseId("eager-step")
PREDICT_LOOP = CauseId("predict-loop")
PYTHON_OP = CauseId("python-op")
INPUT_BOUND = CauseId("input-bound")
HOST_SYNC = CauseId("host-sync")
HOST_COPY = CauseId("host-copy")
CALLBACK_HEAVY = CauseId("callback-heavy")
GROWING_INPUT = CauseId("growing-input")
PER_SAMPLE = CauseId("per-sample")
OWN_PYTHON = CauseId("own-python")
NUMPY_LOOP = CauseId("numpy-loop")
OUTPUT_BOUND = CauseId("output-bound")
THREAD_LIMITS = CauseId("thread-limits")
VALIDATION_HEAVY = CauseId("validation-heavy")
DISPATCH_BOUND = CauseId("dispatch-bound")
WIDE_DTYPE = CauseId("wide-dtype")
SPARSE_TO_DENSE = CauseId("sparse-to-dense")
SLOW_START = CauseId("slow-start")
TENSOR_LEAK = CauseId("tensor-leak")
PYTHON_LEAK = CauseId("python-leak")
KERNEL_LEAK = CauseId("kernel-leak")
GC_PAUSE = CauseId("gc-pause")
CPU_CONTENTION = CauseId("cpu-contention")
CPU_THROTTLED = CauseId("cpu-throttled")
MEMORY_PRESSURE = CauseId("memory-pressure")
GPU_THROTTLED = CauseId("gpu-throttled")
GPU_CONTENTION = CauseId("gpu-contention")
GPU_MEMORY_FULL = CauseId("gpu-memory-full")

#: The reasons for a retrace that are causes; the agent sends one with each trace. A newer agent may send others:
#: their traces are counted, but there is nothing to report about them.
RETRACE_REASONS = (
    RETRACE_PYTHON_VALUE,
    RETRACE_SHAPE,
    RETRACE_DTYPE,
    RETRACE_STRUCTURE,
    RETRACE_OBJECT,
    FUNCTION_RECREATED,
)

# Groups for `Cause.explained_by`.
RETRACES = (*RETRACE_REASONS[:-1], XLA_RECOMPILE, FUNCTION_RECREATED)
RECREATED = (MODEL_RECREATED, OPTIMIZER_RECREATED, DATASET_RECREATED, FUNCTION_RECREATED)
GRAPHS = (GRAPH_GROWTH, SESSION_PER_STEP, SESSION_LEAK)
LEAKS = (TENSOR_LEAK, PYTHON_LEAK, KERNEL_LEAK)
