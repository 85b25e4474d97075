import tensorflow as tf

units = 32
wx = tf.Variable(tf.random.normal([16, 4 * units], stddev=0.1))
wh = tf.Variable(tf.random.normal([units, 4 * units], stddev=0.1))
b = tf.Variable(tf.zeros([4 * units]))


def cell(x, h, c):
    i, f, g, o = tf.split(tf.matmul(x, wx) + tf.matmul(h, wh) + b, 4, axis=1)
    c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
    return tf.sigmoid(o) * tf.tanh(c), c


def forward(seq):
    h = tf.zeros([8, units])
    c = tf.zeros([8, units])
    for x in tf.unstack(seq, axis=1):
        h, c = cell(x, h, c)
    return h


batches = tf.random.normal([10, 8, 30, 16])
for epoch in range(12):
    for k in range(10):
        out = forward(batches[k])
print(out.shape)
