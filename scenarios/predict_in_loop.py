"""Model.predict on one row at a time: nearly all of the call is set-up, hardly any of it is the model."""

from types import SimpleNamespace

import numpy as np
import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="Model.predict on one row inside a loop",
    kind="constant penalty",
    claim="Calling predict for each row is slow, however small the model is.",
    source="added: answering requests or evaluating moves one by one with Model.predict",
    mechanism=(
        "Each predict call on an array builds a data pipeline, traces its functions and makes an iterator"
        " before the model sees a row. "
        "That takes tens of milliseconds, for one row as for 64; little of it is left where the pipeline is"
        " made before the loop. "
        "It is paid again at every call and does not grow."
    ),
    params=(
        Param("rows", 1, "rows to answer per iteration, one call each", minimum=1, gpu=64),
        Param("units", 64, "units in the hidden layer", minimum=1, gpu=4096),
    ),
    fixes=(
        Fix("whole_batch", "give all rows to one call (with more rows than one)", half=True),
        Fix("one_dataset", "make the pipeline before the loop and give that to predict"),
        Fix("on_batch", "call predict_on_batch instead of predict"),
        Fix("call_model", "call the model itself, eagerly: model(x)"),
        Fix("graph_call", "call a tf.function made of the model once"),
    ),
    cure=("graph_call",),
)


def setup(params: Params) -> SimpleNamespace:
    tf.keras.utils.set_random_seed(7)
    model = tf.keras.Sequential(
        [
            tf.keras.Input((32,)),
            tf.keras.layers.Dense(params.units, "relu"),
            tf.keras.layers.Dense(1),
        ]
    )
    batches = np.random.default_rng(7).normal(size=(16, params.rows, 32)).astype("float32")
    return SimpleNamespace(
        model=model,
        compiled=tf.function(model, reduce_retracing=True),
        batches=batches,
        singly=[tf.data.Dataset.from_tensor_slices(rows).batch(1) for rows in batches],
        at_once=[tf.data.Dataset.from_tensor_slices(rows).batch(params.rows) for rows in batches],
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> np.ndarray:
    rows = s.batches[i % len(s.batches)]
    calls = [rows] if fixes.whole_batch else [row[np.newaxis] for row in rows]
    if fixes.graph_call:
        answers = [s.compiled(x) for x in calls]
    elif fixes.call_model:
        answers = [s.model(x) for x in calls]
    elif fixes.on_batch:
        answers = [s.model.predict_on_batch(x) for x in calls]
    elif fixes.one_dataset:
        pipelines = s.at_once if fixes.whole_batch else s.singly
        answers = [s.model.predict(pipelines[i % len(pipelines)], verbose=0)]
    else:
        answers = [s.model.predict(x, verbose=0) for x in calls]
    return np.concatenate(answers)
