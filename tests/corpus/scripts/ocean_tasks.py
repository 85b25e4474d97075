"""Neural interpolation of sea-surface temperature: many small tasks, trained epoch by epoch."""
import numpy as np
import tensorflow as tf

LR = 1e-3


class TaskLoader:
    def __init__(self, n_points=400, seed=17):
        self.rng = np.random.default_rng(seed)
        self.n_points = n_points
        self.phase = self.rng.uniform(0, 2 * np.pi, size=(4,))

    def field(self, lat, lon):
        return (np.sin(3 * lat + self.phase[0]) * np.cos(2 * lon + self.phase[1])
                + 0.3 * np.sin(7 * lon + self.phase[2]) + 0.1 * lat * lon)

    def draw(self, n_tasks):
        tasks = []
        for _ in range(n_tasks):
            lat = self.rng.uniform(-1, 1, self.n_points)
            lon = self.rng.uniform(-1, 1, self.n_points)
            temp = self.field(lat, lon) + 0.05 * self.rng.standard_normal(self.n_points)
            tasks.append((np.stack([lat, lon], 1).astype("float32"), temp[:, None].astype("float32")))
        return tasks


def build_net(width=64, depth=6):
    layers = [tf.keras.Input((2,))]
    for _ in range(depth):
        layers += [tf.keras.layers.Dense(width), tf.keras.layers.LayerNormalization(),
                   tf.keras.layers.Activation("gelu")]
    return tf.keras.Sequential(layers + [tf.keras.layers.Dense(1)])


@tf.function
def train_step(model, opt, coords, temps):
    with tf.GradientTape() as tape:
        error = model(coords, training=True) - temps
        loss = tf.reduce_mean(tf.square(error))
    grads = tape.gradient(loss, model.trainable_variables)
    grads, _ = tf.clip_by_global_norm(grads, 1.0)
    opt.apply_gradients(zip(grads, model.trainable_variables))
    return loss


def train_epoch(model, tasks, lr=LR):
    opt = tf.keras.optimizers.Adam(lr)
    opt.build(model.trainable_variables)
    losses = [train_step(model, opt, tf.constant(c), tf.constant(t)) for c, t in tasks]
    return float(tf.reduce_mean(losses))


def validate(model, tasks):
    coords = np.concatenate([c for c, _ in tasks])
    temps = np.concatenate([t for _, t in tasks])
    return float(np.sqrt(np.mean((model(coords).numpy() - temps) ** 2)))


if __name__ == "__main__":
    tf.random.set_seed(17)
    loader = TaskLoader()
    net = build_net()
    val_tasks = loader.draw(4)
    train_tasks = loader.draw(16)
    for epoch in range(14):
        loss = train_epoch(net, train_tasks)
        if epoch % 2 == 0:
            print("epoch", epoch, "train", round(loss, 4), "val rmse", round(validate(net, val_tasks), 4))
    print("done, val rmse", round(validate(net, val_tasks), 4))
