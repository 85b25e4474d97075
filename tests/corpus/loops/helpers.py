import tensorflow as tf

w = tf.Variable(tf.random.normal([8, 1]))
opt = tf.keras.optimizers.SGD(0.1)


@tf.function
def _train(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w) ** 2)
    opt.apply_gradients([(tape.gradient(loss, w), w)])
    return loss


def one(x, log):
    loss = _train(x)
    log.append(float(loss))
    return loss


def run(ds, log):
    for x in ds:
        one(x, log)


def main():
    ds = tf.data.Dataset.from_tensor_slices(tf.random.normal([80, 8])).batch(4)
    log = []
    for _ in range(2):
        run(ds, log)


if __name__ == "__main__":
    main()
# expect: 40 | for x in ds
