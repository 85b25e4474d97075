import numpy as np
import tensorflow as tf

rng = np.random.RandomState(8)
net = tf.keras.Sequential(
    [
        tf.keras.layers.Conv2D(16, 3, padding="same", activation="relu"),
        tf.keras.layers.Conv2D(16, 3, padding="same", activation="relu"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(5),
    ]
)
net.build((None, None, None, 3))
opt = tf.keras.optimizers.Adam()
opt.build(net.trainable_variables)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=net(x)))
    opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
    return loss


for size, steps in ((16, 300), (24, 150), (32, 100)):
    for i in range(steps):
        loss = step(
            tf.constant(rng.rand(16, size, size, 3).astype("float32")), tf.constant(rng.randint(0, 5, 16))
        )
    print("size", size, float(loss))
