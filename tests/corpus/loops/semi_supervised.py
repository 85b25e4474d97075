import tensorflow as tf


@tf.function
def step(model, opt, xl, yl, xu):
    with tf.GradientTape() as tape:
        supervised = tf.reduce_mean((model(xl) - yl) ** 2)
        consistency = tf.reduce_mean((model(xu) - model(xu + 0.1)) ** 2)
        loss = supervised + 0.5 * consistency
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


def main():
    model = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(8, "relu"), tf.keras.layers.Dense(1)])
    opt = tf.keras.optimizers.Adam()
    labelled = tf.data.Dataset.from_tensor_slices((tf.random.normal([40, 4]), tf.random.normal([40, 1]))).batch(4)
    unlabelled = tf.data.Dataset.from_tensor_slices(tf.random.normal([96, 4])).batch(8)
    for epoch in range(3):
        for (xl, yl), xu in zip(labelled, unlabelled):
            step(model, opt, xl, yl, xu)


main()
# expect: 30 | for (xl, yl), xu in zip(
