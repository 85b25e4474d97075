import tensorflow as tf


def augment(image):
    image = tf.image.resize(image, [96, 96])
    image = tf.image.random_hue(image, 0.1)
    image = tf.image.random_saturation(image, 0.8, 1.2)
    return tf.image.resize(image, [64, 64])


images = tf.random.uniform([400, 80, 80, 3])
ds = tf.data.Dataset.from_tensor_slices(images)
ds = ds.map(augment)
ds = ds.batch(16)
w = tf.Variable(tf.random.normal([64 * 64 * 3, 4]))


@tf.function
def train_step(batch):
    return tf.reduce_mean(tf.matmul(tf.reshape(batch, [-1, 64 * 64 * 3]), w))


for epoch in range(2):
    for images in ds:
        out = train_step(images)
print(float(out))
