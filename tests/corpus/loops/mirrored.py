import tensorflow as tf

strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
GLOBAL_BATCH = 8
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.SGD(0.01)

raw = tf.data.Dataset.from_tensor_slices((tf.random.normal([64, 4]), tf.random.normal([64, 1])))
train_dist = strategy.experimental_distribute_dataset(raw.batch(GLOBAL_BATCH))
test_dist = strategy.experimental_distribute_dataset(raw.batch(GLOBAL_BATCH))


def train_step(inputs):
    x, y = inputs
    with tf.GradientTape() as tape:
        per_example = tf.reduce_sum((model(x, training=True) - y) ** 2, 1)
        loss = tf.nn.compute_average_loss(per_example, global_batch_size=GLOBAL_BATCH)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


@tf.function
def distributed_train_step(inputs):
    losses = strategy.run(train_step, args=(inputs,))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)


@tf.function
def distributed_test_step(inputs):
    return strategy.run(lambda xy: tf.reduce_sum(model(xy[0])), args=(inputs,))


for epoch in range(3):
    total, n = 0.0, 0
    for x in train_dist:
        total += distributed_train_step(x)
        n += 1
    for x in test_dist:
        distributed_test_step(x)
    print(epoch, float(total) / n)
# expect: 24 | for x in train_dist
