import tensorflow as tf

target = tf.random.normal([1, 32, 32, 3])
image = tf.Variable(tf.random.uniform([1, 32, 32, 3]))
kernel = tf.random.normal([3, 3, 3, 8])
opt = tf.keras.optimizers.Adam(0.02)


def optimise(image, rounds):
    for i in range(rounds):

        @tf.function
        def step(image):
            with tf.GradientTape() as tape:
                features = tf.nn.conv2d(image, kernel, 1, "SAME")
                wanted = tf.nn.conv2d(target, kernel, 1, "SAME")
                loss = tf.reduce_mean((features - wanted) ** 2)
            grad = tape.gradient(loss, image)
            return loss, grad

        loss, grad = step(image)
        image.assign_sub(0.1 * grad)
    return loss


print(float(optimise(image, 45)))
