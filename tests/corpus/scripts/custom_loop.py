import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Adam()
x = tf.random.normal([1000, 16])
y = tf.random.normal([1000, 1])
train = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000).batch(48).prefetch(2)
test = tf.data.Dataset.from_tensor_slices((x[:100], y[:100])).batch(48)


@tf.function
def step(x, y, training):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x, training=training) - y) ** 2)
    if training:
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


for epoch in range(15):
    for a, b in train:
        loss = step(a, b, True)
    total = 0.0
    for a, b in test:
        total += float(step(a, b, False))
    print(epoch, float(loss), total)
