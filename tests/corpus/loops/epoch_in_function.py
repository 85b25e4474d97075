import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(8, "tanh"), tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Adam()
mean = tf.keras.metrics.Mean()
ds = tf.data.Dataset.from_tensor_slices((tf.random.normal([64, 4]), tf.random.normal([64, 1]))).batch(8)


@tf.function
def run_epoch(ds):
    for x, y in ds:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        mean.update_state(loss)


for e in range(12):
    mean.reset_state()
    run_epoch(ds)
    print("epoch", e, "loss", float(mean.result()))
# expect: 12 | for e in range(12)
