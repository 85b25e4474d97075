"""A new Keras model in every iteration: time stays flat, memory does not."""

import gc
from types import SimpleNamespace

import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="A new Keras model in every iteration",
    kind="leaks",
    claim="Building a model in each iteration eats memory, even when it is dropped.",
    source="added: hyperparameter search, cross-validation or a model built inside a function",
    mechanism=(
        "Keras numbers its models and layers (dense, dense_1 ...), so the variables of each new model "
        "have new names. "
        "TensorFlow caches a kernel for every name that a variable was made with, and the cache outlives "
        "the model. "
        "The same names each time, or clearing that cache, all but stops the leak; the garbage collector "
        "does not, as no Python object is left over."
    ),
    params=(
        Param("units", 64, "units in each hidden layer", minimum=1, gpu=1024),
        Param("layers", 2, "hidden layers", minimum=1, gpu=8),
    ),
    fixes=(
        Fix("hoist", "build the model once, before the loop"),
        Fix("fixed_names", "name model and layers, so that each new one has the same names"),
        Fix("clear_session", "call keras.backend.clear_session() after each model"),
        Fix("clear_quickly", "call clear_session(free_memory=False), without a full collection"),
        Fix("collect", "collect garbage, in full every 50 iterations", half=True),
    ),
    cure=("hoist",),
)


def build(s: SimpleNamespace, names: list[str] | list[None]) -> tf.keras.Model:
    weights = tf.keras.initializers.GlorotUniform(seed=7)  # the same numbers each time
    hidden = [
        tf.keras.layers.Dense(s.units, "relu", kernel_initializer=weights, name=name) for name in names[:-1]
    ]
    last = tf.keras.layers.Dense(1, kernel_initializer=weights, name=names[-1])
    return tf.keras.Sequential([tf.keras.Input((32,)), *hidden, last], name=names[0])


def setup(params: Params) -> SimpleNamespace:
    s = SimpleNamespace(
        units=params.units,
        numbered=[None] * (params.layers + 1),
        names=[f"layer_{n}" for n in range(params.layers + 1)],
        x=tf.random.stateless_normal([16, 32], seed=(7, 7)),
    )
    s.model = build(s, s.names)
    return s


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    if fixes.hoist:
        model = s.model
    elif fixes.fixed_names:
        model = build(s, s.names)
    else:
        model = build(s, s.numbered)
    result = float(tf.reduce_sum(model(s.x)))
    del model
    if fixes.clear_session:
        tf.keras.backend.clear_session()
    elif fixes.clear_quickly:
        tf.keras.backend.clear_session(free_memory=False)
    if fixes.collect:
        gc.collect(2 if i % 50 == 0 else 0)
    return result
