import tensorflow as tf

net = tf.keras.Sequential([tf.keras.Input([8]), tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(16), tf.keras.layers.Dense(1)])
x = tf.random.normal([32, 8])
y = tf.random.normal([32, 1])


def train_step():
    optimizer = tf.keras.optimizers.Adam(learning_rate=0.001)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((net(x) - y) ** 2)
    grads = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(grads, net.trainable_variables))
    return loss


for i in range(80):
    loss = train_step()
print(float(loss))
