import numpy as np
import tensorflow.compat.v1 as tf

with tf.Graph().as_default():
    global_step = tf.train.get_or_create_global_step()
    x = tf.placeholder(tf.float32, [None, 3], "x")
    y = tf.placeholder(tf.float32, [None], "y")
    w = tf.get_variable("w", [3])
    loss = tf.losses.mean_squared_error(y, tf.linalg.matvec(x, w))
    train_op = tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss, global_step=global_step)
    hooks = [
        tf.train.StopAtStepHook(last_step=35),
        tf.train.NanTensorHook(loss),
        tf.train.LoggingTensorHook({"loss": loss}, every_n_iter=10),
    ]
    with tf.train.MonitoredTrainingSession(hooks=hooks) as mon_sess:
        while not mon_sess.should_stop():
            _, value = mon_sess.run(
                [train_op, loss], feed_dict={x: np.random.rand(8, 3), y: np.random.rand(8)}
            )
# expect: 35 | while not mon_sess.should_stop()
