"""np.apply_along_axis inside tf.numpy_function: the cost is its Python call per row, not the bridge."""

from types import SimpleNamespace

import numpy as np
import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="np.apply_along_axis in tf.numpy_function",
    kind="constant penalty",
    claim="A NumPy function applied row by row is unavoidable, and the bridge costs.",
    source="003, example 3",
    mechanism=(
        "np.apply_along_axis calls a Python function once per row, and that is nearly all of the time: it "
        "takes as long without TensorFlow. "
        "One NumPy expression for all rows is many times faster, still inside tf.numpy_function. "
        "TensorFlow's own ops take about the same as that."
    ),
    example=(
        "Runs as written, and times nothing. It calls the row loop unavoidable, but its sum of squares is "
        "one expression in NumPy or TensorFlow."
    ),
    params=(
        Param("rows", 1000, "rows of the matrix", minimum=1, gpu=10000),
        Param("columns", 100, "columns of the matrix", minimum=1, gpu=1000),
    ),
    fixes=(
        Fix("vectorise", "one NumPy expression for all rows, still in tf.numpy_function"),
        Fix("native", "the same expression in TensorFlow, no tf.numpy_function"),
        Fix("no_bridge", "the same NumPy call with no TensorFlow around it", half=True),
    ),
    cure=("vectorise",),
    env={"OPENBLAS_NUM_THREADS": "1"},
)


def row_by_row(x: np.ndarray) -> np.ndarray:
    return np.apply_along_axis(lambda row: np.sum(row**2), 1, x)


def all_rows(x: np.ndarray) -> np.ndarray:
    return np.sum(x**2, axis=1)


def setup(params: Params) -> SimpleNamespace:
    array = np.random.default_rng(7).normal(size=(params.rows, params.columns)).astype(np.float32)
    return SimpleNamespace(
        array=array,
        tensor=tf.constant(array),
        row_by_row=tf.function(lambda x: tf.numpy_function(row_by_row, [x], tf.float32)),
        all_rows=tf.function(lambda x: tf.numpy_function(all_rows, [x], tf.float32)),
        native=tf.function(lambda x: tf.reduce_sum(x**2, axis=1)),
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> np.ndarray:
    if fixes.native:
        return s.native(s.tensor).numpy()
    if fixes.vectorise and fixes.no_bridge:
        return all_rows(s.array)
    if fixes.vectorise:
        return s.all_rows(s.tensor).numpy()
    if fixes.no_bridge:
        return row_by_row(s.array)
    return s.row_by_row(s.tensor).numpy()
