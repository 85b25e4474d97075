"""Batches of varying length under tf.function: one trace for each length."""

from types import SimpleNamespace

import numpy as np
import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="Batches of varying length retrace",
    kind="leaks",
    claim="Sentences padded to the batch's longest make tf.function trace for each length.",
    source="added: text batches, each padded to its own longest sentence",
    mechanism=(
        "A trace is made for one shape, so each length not seen before is traced again, and its graph "
        "stays in memory. "
        "It ends only when all lengths have been met. "
        "An open dimension needs one or two traces; padding to buckets needs one for each bucket, and a "
        "mask so that the result stays right."
    ),
    params=(
        Param("longest", 2000, "tokens in the longest batch", minimum=64, gpu=8000),
        Param("units", 16, "numbers per embedded token", minimum=1, gpu=512),
        Param("bucket", 500, "padding goes up to a multiple of this", minimum=1, gpu=500),
    ),
    fixes=(
        Fix("signature", "declare input_signature with an open length: TensorSpec([8, None])"),
        Fix("reduce_retracing", "say reduce_retracing=True"),
        Fix("pad_to_bucket", "pad each batch to a multiple of the bucket size, and mask", half=True),
    ),
    cure=("signature",),
)


def setup(params: Params) -> SimpleNamespace:
    table = tf.random.stateless_normal([100, params.units], seed=(7, 7))

    def encode(tokens: tf.Tensor) -> tf.Tensor:
        real = tf.cast(tokens > 0, tf.float32)[:, :, tf.newaxis]  # token 0 is padding
        mean = tf.reduce_sum(tf.gather(table, tokens) * real, axis=1) / tf.reduce_sum(real, axis=1)
        return tf.reduce_sum(tf.tanh(mean))

    random = np.random.default_rng(7)
    return SimpleNamespace(
        encode=tf.function(encode),
        relaxed=tf.function(encode, reduce_retracing=True),
        signed=tf.function(encode, input_signature=[tf.TensorSpec([8, None], tf.int32)]),
        text=random.integers(1, 100, size=(8, params.longest), dtype=np.int32),
        lengths=random.permutation(params.longest) + 1,
        bucket=params.bucket,
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    length = s.lengths[i % len(s.lengths)]
    batch = s.text[:, :length]
    if fixes.pad_to_bucket:
        batch = np.pad(batch, [(0, 0), (0, -length % s.bucket)])
    if fixes.signature:
        result = s.signed(batch)
    elif fixes.reduce_retracing:
        result = s.relaxed(batch)
    else:
        result = s.encode(batch)
    return float(result)
