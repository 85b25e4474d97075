import tensorflow as tf

encoder = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(8)])
decoder = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(64)])
optimizer = tf.keras.optimizers.Adam(1e-3)
data = tf.random.normal([14 * 32, 64])
dataset = tf.data.Dataset.from_tensor_slices(data).batch(32)


@tf.function
def step(batch, iteration):
    beta = min(1.0, iteration / 1000.0)
    with tf.GradientTape() as tape:
        z = encoder(batch)
        out = decoder(z)
        loss = tf.reduce_mean((out - batch) ** 2) + beta * tf.reduce_mean(z ** 2)
    variables = encoder.trainable_variables + decoder.trainable_variables
    grads = tape.gradient(loss, variables)
    optimizer.apply_gradients(zip(grads, variables))
    return loss


for epoch in range(1):
    total = 0.0
    for i, batch in enumerate(dataset):
        total += float(step(batch, epoch * 14 + i))
    print(epoch, total / 14)
