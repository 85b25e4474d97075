"""tf.data fed by a Python generator, row by row."""

from collections.abc import Iterator
from itertools import count
from types import SimpleNamespace

import numpy as np
import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="tf.data fed by a Python generator",
    kind="constant penalty",
    claim="from_generator is slow because each row passes through Python.",
    source="added: Dataset.from_generator over rows that are in memory",
    mechanism=(
        "For each row tf.data calls back into Python, converts what comes out and checks it. "
        "That costs far more than copying the row does. "
        "Whole batches from the generator spread the call over many rows; rows in memory need no "
        "generator at all."
    ),
    params=(
        Param("batch", 64, "rows per batch", minimum=1, gpu=1024),
        Param("width", 16, "numbers per row", minimum=1, gpu=1024),
    ),
    fixes=(
        Fix("tensor_slices", "use from_tensor_slices on the array"),
        Fix("yield_batches", "let the generator yield whole batches instead of rows"),
        Fix("no_dataset", "slice the array in the loop, without tf.data"),
    ),
    cure=("tensor_slices",),
)

BATCHES = 32


def setup(params: Params) -> SimpleNamespace:
    data = np.random.default_rng(7).normal(size=(BATCHES * params.batch, params.width)).astype(np.float32)

    def rows() -> Iterator[np.ndarray]:
        for n in count():
            yield data[n % len(data)]

    def batches() -> Iterator[np.ndarray]:
        for n in count():
            start = n % BATCHES * params.batch
            yield data[start : start + params.batch]

    row = tf.TensorSpec([params.width], tf.float32)
    whole_batch = tf.TensorSpec([params.batch, params.width], tf.float32)
    by_row = tf.data.Dataset.from_generator(rows, output_signature=row).batch(params.batch)
    by_batch = tf.data.Dataset.from_generator(batches, output_signature=whole_batch)
    from_slices = tf.data.Dataset.from_tensor_slices(data).repeat().batch(params.batch)
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False  # nothing runs ahead
    return SimpleNamespace(
        data=data,
        batch=params.batch,
        by_row=iter(by_row.with_options(options)),
        by_batch=iter(by_batch.with_options(options)),
        from_slices=iter(from_slices.with_options(options)),
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    if fixes.no_dataset:
        start = i % BATCHES * s.batch
        batch = tf.constant(s.data[start : start + s.batch])
    elif fixes.tensor_slices:
        batch = next(s.from_slices)
    elif fixes.yield_batches:
        batch = next(s.by_batch)
    else:
        batch = next(s.by_row)
    return float(tf.reduce_sum(batch))
