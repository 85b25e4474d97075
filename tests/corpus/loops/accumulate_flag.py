import tensorflow as tf

tf.random.set_seed(3)
model = tf.keras.Sequential([tf.keras.Input([5]), tf.keras.layers.Dense(6, "relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.AdamW(1e-3)
accum = [tf.Variable(tf.zeros_like(v), trainable=False) for v in model.trainable_variables]
ACCUM_STEPS = 5


@tf.function
def forward_backward(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y)) / ACCUM_STEPS
    for a, g in zip(accum, tape.gradient(loss, model.trainable_variables)):
        a.assign_add(g)
    return loss


@tf.function
def apply_accumulated():
    optimizer.apply_gradients(zip(accum, model.trainable_variables))
    for a in accum:
        a.assign(tf.zeros_like(a))


ds = tf.data.Dataset.from_tensor_slices((tf.random.normal([100, 5]), tf.random.normal([100, 1]))).batch(4)
EPOCHS = 3
for epoch in range(EPOCHS):
    running = 0.0
    for step, (xb, yb) in enumerate(ds):
        running += forward_backward(xb, yb)
        if (step + 1) % ACCUM_STEPS == 0:
            apply_accumulated()
    print(f"Epoch {epoch}: {running:.4f}")
# expect: 75 | for step, (xb, yb) in enumerate(ds)
