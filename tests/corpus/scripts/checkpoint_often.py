import tempfile

import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input([64]), tf.keras.layers.Dense(256), tf.keras.layers.Dense(64)])
opt = tf.keras.optimizers.Adam()
ckpt = tf.train.Checkpoint(model=model, step=tf.Variable(0))
manager = tf.train.CheckpointManager(ckpt, tempfile.mkdtemp(), max_to_keep=2)


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - x) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


x = tf.random.normal([16, 64])
for step in range(70):
    loss = train_step(x)
    ckpt.step.assign_add(1)
    manager.save()
print(float(loss))
