import tensorflow as tf

trunk = tf.keras.layers.Dense(8, "relu")
tasks = {"age": tf.keras.layers.Dense(1), "sex": tf.keras.layers.Dense(2), "race": tf.keras.layers.Dense(4)}
opt = tf.keras.optimizers.Adam()
trunk.build([None, 6])
for layer in tasks.values():
    layer.build([None, 8])
losses = {"age": "mse", "sex": "ce", "race": "ce"}


def train_epoch(loader):
    for x, targets in loader:
        with tf.GradientTape() as tape:
            features = trunk(x)
            total = 0.0
            for name, layer in tasks.items():
                out = layer(features)
                if losses[name] == "mse":
                    total += tf.reduce_mean((out - targets[name]) ** 2)
                else:
                    total += tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(targets[name], out))
        variables = trunk.trainable_variables + [v for l in tasks.values() for v in l.trainable_variables]
        opt.apply_gradients(zip(tape.gradient(total, variables), variables))


def loader(n):
    for _ in range(n):
        yield tf.random.normal([4, 6]), {
            "age": tf.random.normal([4, 1]),
            "sex": tf.random.uniform([4], 0, 2, tf.int32),
            "race": tf.random.uniform([4], 0, 4, tf.int32),
        }


for epoch in range(2):
    train_epoch(loader(10))
# expect: 20 | for x, targets in loader
