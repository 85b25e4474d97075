from concurrent.futures import ThreadPoolExecutor

import numpy as np
import tensorflow as tf

kernel = tf.random.normal([16, 4])


@tf.function(input_signature=[tf.TensorSpec([None, 16])])
def infer(x):
    return tf.argmax(x @ kernel, 1)


def handle(request):
    return int(infer(tf.constant(request[None]))[0])


requests = np.random.rand(48, 16).astype("float32")
handle(requests[0])  # calls of other threads are not counted while one of them traces
with ThreadPoolExecutor(2) as pool:
    answers = list(pool.map(handle, requests))
# expect: 49 | @tf.function(
