import time

import numpy as np
import tensorflow as tf
from tensorflow import keras

inputs = keras.Input(shape=(12,), name="digits")
x1 = keras.layers.Dense(16, activation="relu")(inputs)
outputs = keras.layers.Dense(4, name="predictions")(x1)
model = keras.Model(inputs=inputs, outputs=outputs)
optimizer = keras.optimizers.SGD(learning_rate=1e-3)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
train_acc_metric = keras.metrics.SparseCategoricalAccuracy()
val_acc_metric = keras.metrics.SparseCategoricalAccuracy()
X, Y = np.random.rand(60, 12).astype("float32"), np.random.randint(0, 4, 60)
train_dataset = tf.data.Dataset.from_tensor_slices((X, Y)).shuffle(64).batch(6)
val_dataset = tf.data.Dataset.from_tensor_slices((np.tile(X, (3, 1)), np.tile(Y, 3))).batch(6)

for epoch in range(2):
    start_time = time.time()
    for step, (x_batch_train, y_batch_train) in enumerate(train_dataset):
        with tf.GradientTape() as tape:
            logits = model(x_batch_train, training=True)
            loss_value = loss_fn(y_batch_train, logits)
        grads = tape.gradient(loss_value, model.trainable_weights)
        optimizer.apply(grads, model.trainable_weights)
        train_acc_metric.update_state(y_batch_train, logits)
        if step % 5 == 0:
            print("Training loss at step %d: %.4f" % (step, float(loss_value)))
    train_acc_metric.reset_state()
    for x_batch_val, y_batch_val in val_dataset:
        val_logits = model(x_batch_val, training=False)
        val_acc_metric.update_state(y_batch_val, val_logits)
    val_acc = val_acc_metric.result()
    val_acc_metric.reset_state()
    print("Validation acc: %.4f, %.2fs" % (float(val_acc), time.time() - start_time))
# expect: 20 | for step, (x_batch_train, y_batch_train)
