import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input([5]), tf.keras.layers.Dense(1)])
images = np.random.randn(12, 5)
scores = []
for image in images:
    scores.append(model.predict(image[None], verbose=0)[0, 0])
# expect: 12 | for image in images
