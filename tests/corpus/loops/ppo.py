import numpy as np
import tensorflow as tf

policy = tf.keras.Sequential([tf.keras.Input([3]), tf.keras.layers.Dense(8, "tanh"), tf.keras.layers.Dense(2)])
value = tf.keras.Sequential([tf.keras.Input([3]), tf.keras.layers.Dense(8, "tanh"), tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Adam(3e-4)


@tf.function
def act(obs):
    logits = policy(obs)
    a = tf.random.categorical(logits, 1)[:, 0]
    return a, tf.nn.sparse_softmax_cross_entropy_with_logits(a, logits), value(obs)[:, 0]


@tf.function
def train_minibatch(obs, a, old, ret):
    with tf.GradientTape() as tape:
        ratio = tf.exp(old - tf.nn.sparse_softmax_cross_entropy_with_logits(a, policy(obs)))
        v = value(obs)[:, 0]
        adv = ret - tf.stop_gradient(v)
        loss = -tf.reduce_mean(tf.minimum(ratio * adv, tf.clip_by_value(ratio, 0.8, 1.2) * adv))
        loss += 0.5 * tf.reduce_mean((ret - v) ** 2)
    vs = policy.trainable_variables + value.trainable_variables
    opt.apply_gradients(zip(tape.gradient(loss, vs), vs))


obs = np.zeros((4, 3), "float32")
for update in range(5):
    roll = []
    for t in range(8):
        a, logp, v = act(obs)
        obs = (0.9 * obs + np.random.randn(4, 3)).astype("float32")
        roll.append((obs, a.numpy(), logp.numpy(), -np.abs(obs).sum(1)))
    flat = [np.concatenate(part) for part in zip(*roll)]
    for k in range(3):
        order = np.random.permutation(32)
        for start in range(0, 32, 8):
            mb = order[start : start + 8]
            train_minibatch(*[f[mb] for f in flat])
# expect: 60 | for start in range(0, 32, 8)
