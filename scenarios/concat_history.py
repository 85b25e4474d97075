"""A history kept with tf.concat: every step copies all the steps before."""

from types import SimpleNamespace

import tensorflow as tf

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="A history that grows by tf.concat",
    kind="grows",
    claim="Adding each result to a tensor with tf.concat gets slower and slower.",
    source="added: predictions or rewards collected with tf.concat",
    mechanism=(
        "A tensor cannot be made longer, so tf.concat makes a new one and copies the whole history into "
        "it. "
        "A step therefore costs as much as all the steps before have stored. "
        "A list, a TensorArray or a variable with spare room only stores what is new."
    ),
    params=(Param("step", 2000, "numbers added per iteration", minimum=1, gpu=1_000_000),),
    fixes=(
        Fix("keep_list", "append the tensors to a Python list and join them once at the end"),
        Fix("tensor_array", "write them to a TensorArray"),
        Fix("preallocate", "write them into a variable that doubles when it is full"),
    ),
    cure=("keep_list",),
)


def setup(params: Params) -> SimpleNamespace:
    return SimpleNamespace(
        step=params.step,
        x=tf.random.stateless_normal([16, params.step], seed=(7, 7)),
        joined=tf.zeros([0]),
        rows=[],
        array=tf.TensorArray(tf.float32, size=0, dynamic_size=True, clear_after_read=False),
        room=tf.Variable(tf.zeros([64, params.step]), shape=[None, params.step]),
        capacity=64,
        used=0,
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    x = tf.sin(s.x[i % 16])  # a result of its own: a bare row would only be a view, free to keep
    if fixes.keep_list:
        s.rows.append(x)
        last = s.rows[-1]
    elif fixes.tensor_array:
        end = s.array.size()
        s.array = s.array.write(end, x)
        last = s.array.read(end)
    elif fixes.preallocate:
        if s.used == s.capacity:
            s.room.assign(tf.concat([s.room, tf.zeros_like(s.room)], axis=0))
            s.capacity *= 2
        s.room.scatter_nd_update([[s.used]], [x])
        last = s.room.sparse_read(s.used)  # room[used] would copy the whole variable
        s.used += 1
    else:
        s.joined = tf.concat([s.joined, x], axis=0)
        last = s.joined[-s.step :]
    return float(tf.reduce_sum(last))


def gauges(s: SimpleNamespace) -> dict[str, float]:
    return {"numbers in the joined tensor": float(s.joined.shape[0])}
