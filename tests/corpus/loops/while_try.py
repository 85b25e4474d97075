import queue

import numpy as np
import tensorflow as tf

w = tf.Variable(np.random.randn(5, 1).astype("float32"))
opt = tf.keras.optimizers.SGD(0.05)
work = queue.Queue()
for i in range(40):
    work.put(np.full([4, 5], np.nan if i % 10 == 3 else 0.1 * i, "float32"))
failed = seen = 0
while True:
    try:
        item = work.get_nowait()
    except queue.Empty:
        break
    seen += 1
    try:
        with tf.GradientTape() as tape:
            x = tf.debugging.check_numerics(tf.constant(item), "bad batch")
            loss = tf.reduce_mean(tf.square(x @ w))
        grad = tape.gradient(loss, w)
    except tf.errors.InvalidArgumentError as e:
        failed += 1
        continue
    finally:
        work.task_done()
    opt.apply_gradients([(tf.clip_by_norm(grad, 1.0), w)])
    if seen % 8 == 0:
        print(seen, failed, loss.numpy())
# expect: 40 | while True
