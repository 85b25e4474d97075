import numpy as np
import tensorflow as tf

backbone = tf.keras.Sequential(
    [tf.keras.Input([16, 16, 3]), tf.keras.layers.Conv2D(4, 3), tf.keras.layers.GlobalAveragePooling2D()]
)
dataset = {f"class{c}": [np.random.rand(20, 20, 3) for _ in range(3)] for c in range(9)}


def extract_features(model, img):
    img = tf.image.resize(img, (16, 16))
    return model(tf.expand_dims(img, 0), training=False).numpy().flatten()


features, targets = [], []
for class_name in sorted(dataset):
    for img in dataset[class_name]:
        features.append(extract_features(backbone, img))
        targets.append(class_name)
np.stack(features)
# expect: 27 | for img in dataset[class_name]
