import tempfile

import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Adam()
directory = tempfile.mkdtemp()
ckpt = tf.train.Checkpoint(model=model, opt=opt)
manager = tf.train.CheckpointManager(ckpt, directory, max_to_keep=2)
writer = tf.summary.create_file_writer(directory)
data = iter(tf.data.Dataset.from_tensor_slices(tf.random.normal([30, 4])).repeat().batch(5).prefetch(1))


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


try:
    with writer.as_default():
        while int(opt.iterations) < 33:
            loss = step(next(data))
            tf.summary.write("loss", loss, step=opt.iterations)
            if int(opt.iterations) % 15 == 0:
                manager.save()
                for t in tf.data.Dataset.range(4):
                    model(tf.random.normal([1, 4]))
except KeyboardInterrupt:
    print("interrupted")
finally:
    writer.close()
# expect: 33 | while int(opt.iterations) < 33
