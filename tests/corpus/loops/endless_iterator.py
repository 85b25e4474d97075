import tensorflow as tf

w = tf.Variable(tf.random.normal([8, 1]))
opt = tf.keras.optimizers.SGD(0.1)


@tf.function
def train(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w) ** 2)
    opt.apply_gradients([(tape.gradient(loss, w), w)])
    return loss


ds = tf.data.Dataset.from_tensor_slices(tf.random.normal([40, 8])).batch(4)
it = iter(ds)
n = 0
while n < 45:
    try:
        x = next(it)
    except StopIteration:
        it = iter(ds)
        x = next(it)
    n += 1
    loss = train(x)
    if n % 3:
        continue
    print(loss.numpy())
# expect: 45 | while n < 45
