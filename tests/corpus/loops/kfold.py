import numpy as np
import tensorflow as tf

X, y = np.random.rand(45, 6), np.random.randint(0, 2, 45)
folds = np.array_split(np.random.permutation(45), 3)
scores = []
for k, test_idx in enumerate(folds):
    train_idx = np.setdiff1d(np.arange(45), test_idx)
    model = tf.keras.Sequential(
        [tf.keras.Input([6]), tf.keras.layers.Dense(8, "relu"), tf.keras.layers.Dense(1, "sigmoid")]
    )
    model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
    for epoch in range(2):
        np.random.shuffle(train_idx)
        for start in range(0, len(train_idx), 6):
            rows = train_idx[start : start + 6]
            model.train_on_batch(X[rows], y[rows], return_dict=True)
        model.reset_metrics()
    loss, acc = model.test_on_batch(X[test_idx], y[test_idx])
    scores.append(acc)
print("accuracy %.3f +- %.3f" % (np.mean(scores), np.std(scores)))
# expect: 30 | for start in range(0, len(train_idx), 6)
