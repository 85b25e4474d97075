import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(4), tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Adam()
ds = tf.data.Dataset.from_tensor_slices((tf.random.normal([60, 3]), tf.random.normal([60, 1]))).batch(4)
for epoch in range(2):
    total = 0.0
    for x, y in ds:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        grads = tape.gradient(loss, model.trainable_variables)
        opt.apply_gradients(zip(grads, model.trainable_variables))
        total += loss.numpy()
    print(epoch, total)
# expect: 30 | for x, y in ds
