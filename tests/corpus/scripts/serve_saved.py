import os
import tempfile

import numpy as np
import tensorflow as tf

path = os.path.join(tempfile.mkdtemp(), "m.keras")
tf.keras.Sequential([tf.keras.Input([6]), tf.keras.layers.Dense(32), tf.keras.layers.Dense(2)]).save(path)


def handle(request):
    model = tf.keras.models.load_model(path)
    return model(request)


for i in range(40):
    answer = handle(np.random.rand(1, 6).astype("float32"))
print(answer.shape)
