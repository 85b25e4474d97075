import itertools

import tensorflow as tf

tf.random.set_seed(0)
X, Y = tf.random.normal([48, 4]), tf.random.normal([48, 1])
train_ds = tf.data.Dataset.from_tensor_slices((X, Y)).batch(12)


def run(lr, units, epochs=2):
    model = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(units), tf.keras.layers.Dense(1)])
    opt = tf.keras.optimizers.Adam(lr)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    for _ in range(epochs):
        for xb, yb in train_ds:
            loss = step(xb, yb)
    return float(loss)


results = {}
for lr, units in itertools.product([1e-2, 1e-3], [4, 8]):
    results[lr, units] = run(lr, units)
print(min(results, key=results.get))
# expect: 32 | for xb, yb in train_ds
