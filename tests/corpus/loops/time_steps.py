import tensorflow as tf

cell = tf.keras.layers.GRUCell(8)
opt = tf.keras.optimizers.Adam()
data = tf.data.Dataset.from_tensor_slices(tf.random.normal([15, 4, 6, 3]))
step = tf.function(lambda x, h: cell(x, h)[0])
step(tf.zeros([4, 3]), tf.zeros([4, 8]))
for seq in data:
    with tf.GradientTape() as tape:
        h = tf.zeros([4, 8])
        for t in range(6):
            h = step(seq[:, t], h)
        loss = tf.reduce_mean(h**2)
    grads = tape.gradient(loss, cell.trainable_variables)
    opt.apply_gradients(zip(grads, cell.trainable_variables))
# expect: 15 | for seq in data
