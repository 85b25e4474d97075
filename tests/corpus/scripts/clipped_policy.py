import numpy as np
import tensorflow as tf

tf.random.set_seed(2)
rng = np.random.RandomState(2)
ENVS, HORIZON = 32, 64
policy = tf.keras.Sequential(
    [
        tf.keras.Input((6,)),
        tf.keras.layers.Dense(128, "tanh"),
        tf.keras.layers.Dense(128, "tanh"),
        tf.keras.layers.Dense(3),
    ]
)
value = tf.keras.Sequential(
    [tf.keras.Input((6,)), tf.keras.layers.Dense(128, "tanh"), tf.keras.layers.Dense(1)]
)
variables = policy.trainable_variables + value.trainable_variables
opt = tf.keras.optimizers.Adam(3e-4)
opt.build(variables)


@tf.function
def act(obs):
    logits = policy(obs)
    a = tf.random.categorical(logits, 1)[:, 0]
    return a, tf.gather(tf.nn.log_softmax(logits), a, batch_dims=1), value(obs)[:, 0]


@tf.function
def learn(obs, actions, old, adv, ret):
    with tf.GradientTape() as tape:
        logp = tf.gather(tf.nn.log_softmax(policy(obs)), actions, batch_dims=1)
        ratio = tf.exp(logp - old)
        pg = -tf.reduce_mean(tf.minimum(ratio * adv, tf.clip_by_value(ratio, 0.8, 1.2) * adv))
        loss = pg + 0.5 * tf.reduce_mean((value(obs)[:, 0] - ret) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


state = rng.randn(ENVS, 6).astype("float32")
for update in range(40):
    obs, acts, logps, rews, vals = [], [], [], [], []
    for t in range(HORIZON):
        a, lp, v = act(tf.constant(state))
        a = a.numpy()
        obs.append(state)
        acts.append(a), logps.append(lp.numpy()), vals.append(v.numpy())
        state = (0.95 * state + 0.1 * rng.randn(ENVS, 6) + 0.05 * (a - 1)[:, None]).astype("float32")
        rews.append(-np.abs(state).mean(1))
    ret = np.zeros((HORIZON, ENVS), np.float32)
    run = np.zeros(ENVS)
    for t in reversed(range(HORIZON)):
        run = rews[t] + 0.99 * run
        ret[t] = run
    o, a, lp, r = np.concatenate(obs), np.concatenate(acts), np.concatenate(logps), ret.reshape(-1)
    adv = r - np.concatenate(vals)
    for _ in range(4):
        for part in np.array_split(rng.permutation(len(o)), 8):
            loss = learn(*(tf.constant(v[part]) for v in (o, a, lp, adv.astype("float32"), r)))
    if update % 10 == 0:
        print("update", update, float(loss), np.mean(rews))
