"""A pipeline without prefetch(): said to leave the training waiting. tf.data adds one by itself."""

import time
from types import SimpleNamespace

import numpy as np
import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="The input pipeline lacks prefetch()",
    kind="myth",
    claim="Without prefetch() at its end the pipeline and the training take turns.",
    source="added: the advice to end every pipeline with prefetch",
    mechanism=(
        "tf.data adds a prefetch to the end of a pipeline that has none, so batches are already made "
        "while the step runs. "
        "Adding another by hand changes nothing. "
        "With injection=off the gap appears: the step then waits for each batch, and prefetch() hides "
        "that wait."
    ),
    params=(
        Param("injection", "on", "whether tf.data may add its own prefetch", choices=("on", "off")),
        Param("wait", 3.0, "milliseconds that a batch waits, as for a disk", minimum=0.1, gpu=20.0),
        Param("size", 256, "rows and columns of the step's matrices", minimum=1, gpu=4096),
    ),
    fixes=(Fix("prefetch", "end the pipeline with prefetch(1)"),),
    cure=("prefetch",),
    # One thread: on busy cores a second one would measure the neighbours.
    env={"TF_NUM_INTRAOP_THREADS": "1"},
)


def setup(params: Params) -> SimpleNamespace:
    data = np.random.default_rng(7).normal(size=(params.size, params.size)).astype(np.float32)
    data /= 4 * params.size**0.5

    def read(n: np.ndarray) -> np.ndarray:
        time.sleep(params.wait / 1000)  # stands for a disk or a network: it waits and needs no processor
        return data * np.float32(1 + n % 16)

    def load(n: tf.Tensor) -> tf.Tensor:
        return tf.ensure_shape(tf.numpy_function(read, [n], tf.float32), data.shape)

    @tf.function
    def step(batch: tf.Tensor) -> tf.Tensor:
        x = batch
        for _ in range(8):
            x = tf.tanh(x @ batch)
        return tf.reduce_mean(tf.square(x))

    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = params.injection == "on"
    dataset = tf.data.Dataset.range(2**40).map(load).with_options(options)
    return SimpleNamespace(step=step, plain=iter(dataset), prefetching=iter(dataset.prefetch(1)))


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    batch = next(s.prefetching) if fixes.prefetch else next(s.plain)
    return float(s.step(batch))
