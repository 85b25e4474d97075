import tensorflow as tf

images = tf.random.uniform([6, 24, 24])
for n in range(6):
    image = images[n]
    total = 0.0
    for i in range(24):
        for j in range(24):
            if image[i, j] > 0.5:
                total += float(image[i, j])
print(total)
