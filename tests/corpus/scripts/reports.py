import os
import tempfile

import numpy as np
import tensorflow as tf

folder = tempfile.mkdtemp()
x = np.random.rand(1600, 16)
y = np.random.rand(1600, 1)
model = tf.keras.Sequential([tf.keras.Input([16]), tf.keras.layers.Dense(32), tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
callbacks = [tf.keras.callbacks.EarlyStopping(patience=50, monitor="loss"), tf.keras.callbacks.ModelCheckpoint(os.path.join(folder, "best.keras"), save_best_only=True, monitor="loss")]
model.fit(x, y, batch_size=8, epochs=4, verbose=0, callbacks=callbacks)
print(os.listdir(folder))
