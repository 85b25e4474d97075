import tensorflow as tf

enc = tf.keras.Sequential([tf.keras.Input([6]), tf.keras.layers.Dense(3, "relu")])
dec = tf.keras.layers.Dense(6)
head = tf.keras.layers.Dense(1)
dec.build([None, 3])
head.build([None, 3])
x, y = tf.random.normal([2000, 6]), tf.random.normal([2000, 1])


def make_step(variables, loss_fn, opt):
    @tf.function
    def step(xb, yb):
        with tf.GradientTape() as tape:
            loss = loss_fn(xb, yb)
        opt.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    return step


pretrain = make_step(
    enc.trainable_variables + dec.trainable_variables,
    lambda xb, yb: tf.reduce_mean((dec(enc(xb)) - xb) ** 2),
    tf.keras.optimizers.Adam(),
)
finetune = make_step(
    enc.trainable_variables + head.trainable_variables,
    lambda xb, yb: tf.reduce_mean((head(enc(xb)) - yb) ** 2),
    tf.keras.optimizers.Adam(),
)
for i in range(20):
    pretrain(x, y)
best, bad = 1e9, 0
for i in range(10_000):
    loss = float(finetune(x, y))
    bad = 0 if loss < best else bad + 1
    best = min(best, loss)
    if bad > 5 or i == 399:
        break
# expect: 400 | for i in range(10_000)
