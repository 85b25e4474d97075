"""A tf.data map that works row by row, on one thread, in every epoch again."""

from types import SimpleNamespace

import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="A slow map in the input pipeline",
    kind="constant penalty",
    claim="A plain map prepares one row after another while the training waits.",
    source="added: dataset.map(prepare).batch(n) with nothing else",
    mechanism=(
        "Each op of the map is started once per row, and for short rows the starting costs more than the "
        "arithmetic. "
        "Mapped after the batch, the same ops are started once per batch. "
        "More threads do not make that less work; a cache skips the map from the second epoch on."
    ),
    params=(
        Param("batch", 256, "rows per batch", minimum=1, gpu=1024),
        Param("width", 64, "numbers per row", minimum=1, gpu=4096),
    ),
    fixes=(
        Fix("vectorise", "batch first, then map whole batches"),
        Fix("parallel", "say num_parallel_calls=tf.data.AUTOTUNE", half=True),
        Fix("cache", "cache what the map made, so that later epochs reuse it"),
    ),
    cure=("vectorise",),
)

BATCHES = 32


def setup(params: Params) -> SimpleNamespace:
    def prepare(row: tf.Tensor) -> tf.Tensor:
        row = row - tf.reduce_mean(row, axis=-1, keepdims=True)
        row = row / tf.sqrt(tf.reduce_mean(tf.square(row), axis=-1, keepdims=True))
        return tf.concat([tf.sin(row), tf.cos(row)], axis=-1)

    data = tf.random.stateless_normal([BATCHES * params.batch, params.width], seed=(7, 7))
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False  # nothing runs ahead: the map's own time shows
    return SimpleNamespace(
        dataset=tf.data.Dataset.from_tensor_slices(data).with_options(options),
        prepare=prepare,
        batch=params.batch,
        pipelines={},
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    wanted = (fixes.vectorise, fixes.parallel, fixes.cache)
    if wanted not in s.pipelines:  # built once, when it is first asked for
        workers = tf.data.AUTOTUNE if fixes.parallel else None
        if fixes.vectorise:
            dataset = s.dataset.batch(s.batch).map(s.prepare, num_parallel_calls=workers)
        else:
            dataset = s.dataset.map(s.prepare, num_parallel_calls=workers).batch(s.batch)
        if fixes.cache:
            dataset = dataset.cache()
        s.pipelines[wanted] = iter(dataset.repeat())
    return float(tf.reduce_sum(next(s.pipelines[wanted])))
