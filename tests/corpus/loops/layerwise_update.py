import tensorflow as tf

layers = [tf.keras.layers.Dense(8, "tanh") for _ in range(3)]
for layer in layers:
    layer.build([None, 8])
opts = [tf.keras.optimizers.SGD(0.01) for _ in layers]
x = tf.random.normal([16, 8])
for it in range(20):
    with tf.GradientTape(persistent=True) as tape:
        h = x
        for layer in layers:
            h = layer(h)
        loss = tf.reduce_mean(h**2)
    for layer, opt in zip(layers, opts):
        g = tape.gradient(loss, layer.trainable_variables)
        opt.apply_gradients(zip(g, layer.trainable_variables))
# expect: 20 | for it in range(20)
