import tensorflow as tf

vocab = list("abcdefgh ")


class Char(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.emb = tf.keras.layers.Embedding(len(vocab), 8)
        self.cell = tf.keras.layers.GRUCell(12)
        self.out = tf.keras.layers.Dense(len(vocab))

    def call(self, ids, state):
        h, _ = self.cell(self.emb(ids), [state])
        return self.out(h), h


model = Char()


@tf.function
def one_step(ids, state):
    logits, state = model(ids, state)
    return tf.random.categorical(logits, 1)[:, 0], state


def generate(start, length):
    state = tf.zeros([1, 12])
    ids = tf.constant([vocab.index(start)], tf.int64)
    result = [start]
    for n in range(length):
        ids, state = one_step(ids, state)
        result.append(vocab[int(ids[0])])
    return "".join(result)


for start in "abcd":
    print(generate(start, 30))
# expect: 120 | for n in range(length)
