import tensorflow as tf

extractor = tf.keras.Sequential([tf.keras.Input([12, 12, 3]), tf.keras.layers.Conv2D(4, 3), tf.keras.layers.Conv2D(4, 3)])
extractor.trainable = False
content, style = tf.random.uniform([1, 12, 12, 3]), tf.random.uniform([1, 12, 12, 3])


def gram(t):
    return tf.linalg.einsum("bijc,bijd->bcd", t, t)


targets = extractor(content), gram(extractor(style))
image = tf.Variable(content)
opt = tf.keras.optimizers.Adam(0.02)


@tf.function()
def train_step(image):
    with tf.GradientTape() as tape:
        out = extractor(image)
        loss = tf.reduce_mean((out - targets[0]) ** 2) + tf.reduce_mean((gram(out) - targets[1]) ** 2)
        loss += 30 * tf.image.total_variation(image)[0]
    grad = tape.gradient(loss, image)
    opt.apply_gradients([(grad, image)])
    image.assign(tf.clip_by_value(image, 0.0, 1.0))


epochs, steps_per_epoch = 3, 12
step = 0
for n in range(epochs):
    for m in range(steps_per_epoch):
        step += 1
        train_step(image)
        print(".", end="", flush=True)
    print("Train step: {}".format(step))
# expect: 36 | for m in range(steps_per_epoch)
