# The way of many an old repository: a "combined" model, train_on_batch, and an epoch that is one batch.
import numpy as np
from tensorflow.keras.layers import Dense, Input
from tensorflow.keras.models import Model, Sequential
from tensorflow.keras.optimizers import Adam

disc = Sequential([Input((4,)), Dense(8, activation="relu"), Dense(1, activation="sigmoid")])
disc.compile(loss="binary_crossentropy", optimizer=Adam(2e-4))
gen = Sequential([Input((2,)), Dense(8, activation="relu"), Dense(4)])
z = Input((2,))
frozen = Sequential([Input((4,)), Dense(8, activation="relu"), Dense(1, activation="sigmoid")])
frozen.trainable = False
both = Model(z, frozen(gen(z)))
both.compile(loss="binary_crossentropy", optimizer=Adam(2e-4))


def train(X, epochs, batch_size=8):
    valid, fake = np.ones((batch_size, 1)), np.zeros((batch_size, 1))
    for epoch in range(epochs):
        idx = np.random.randint(0, X.shape[0], batch_size)
        noise = np.random.normal(0, 1, (batch_size, 2))
        gen_imgs = gen.predict(noise, verbose=0)
        d_loss_real = disc.train_on_batch(X[idx], valid)
        d_loss_fake = disc.train_on_batch(gen_imgs, fake)
        d_loss = 0.5 * np.add(d_loss_real, d_loss_fake)
        g_loss = both.train_on_batch(noise, valid)
        if epoch % 5 == 0:
            print("%d [D loss: %f] [G loss: %f]" % (epoch, d_loss, g_loss))


train(np.random.rand(50, 4), epochs=14)
# expect: 14 | for epoch in range(epochs)
