import time

import tensorflow as tf

x = tf.random.normal([8, 8])
end = time.perf_counter() + 4
n = 0
while time.perf_counter() < end:
    for _ in range(3):
        x = tf.tanh(x)
        x = tf.matmul(x, x)
    x = x - tf.reduce_mean(x)
    n += 1
with open(__file__ + ".count", "w") as f:
    f.write(str(n))
# expect: counted | while time.perf_counter() < end
