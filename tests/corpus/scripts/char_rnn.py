import random

import numpy as np
import tensorflow as tf

random.seed(1)
vocab = 50
emb = tf.keras.layers.Embedding(vocab, 16)
rnn = tf.keras.layers.GRU(24, return_sequences=True)
head = tf.keras.layers.Dense(vocab)
opt = tf.keras.optimizers.SGD(0.1)
sentences = [np.random.randint(0, vocab, size=n) for n in random.sample(range(5, 90), 9)]


@tf.function
def train(inputs, targets):
    with tf.GradientTape() as tape:
        logits = head(rnn(emb(inputs)))
        loss = tf.reduce_mean(tf.keras.losses.sparse_categorical_crossentropy(targets, logits, from_logits=True))
    variables = emb.trainable_variables + rnn.trainable_variables + head.trainable_variables
    opt.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


for sentence in sentences:
    tokens = np.asarray(sentence)
    loss = train(tokens[None, :-1], tokens[None, 1:])
print(float(loss))
