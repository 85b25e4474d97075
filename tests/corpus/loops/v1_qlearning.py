import numpy as np
import tensorflow.compat.v1 as tf

graph = tf.Graph()
context = graph.as_default()
context.__enter__()
n_states, n_actions = 6, 3
s_in = tf.placeholder(tf.float32, [1, n_states])
W = tf.Variable(tf.random_uniform([n_states, n_actions], 0, 0.01))
q_out = tf.matmul(s_in, W)
best = tf.argmax(q_out, 1)
q_next = tf.placeholder(tf.float32, [1, n_actions])
update = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(tf.square(q_next - q_out)))


def env_step(s, a):
    s2 = (s + a + 1) % n_states
    return s2, float(s2 == 0)


rewards = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(5):
        s, total, j = 0, 0.0, 0
        while j < 11:
            j += 1
            a, q = sess.run([best, q_out], feed_dict={s_in: np.identity(n_states)[s : s + 1]})
            if np.random.rand() < 0.1:
                a[0] = np.random.randint(n_actions)
            s1, r = env_step(s, a[0])
            q1 = sess.run(q_out, feed_dict={s_in: np.identity(n_states)[s1 : s1 + 1]})
            q[0, a[0]] = r + 0.9 * np.max(q1)
            sess.run([update, W], feed_dict={s_in: np.identity(n_states)[s : s + 1], q_next: q})
            total += r
            s = s1
        rewards.append(total)
context.__exit__(None, None, None)
# expect: 55 | while j < 11
