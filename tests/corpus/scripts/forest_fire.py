# Fire front on a terrain: the network predicts the risk of each cell, the
# front then moves cell by cell.
import numpy as np
import tensorflow as tf

SIZE = 48
HOURS = 34
THRESHOLD = 0.55


class RiskNet(tf.Module):
    def __init__(self, seed):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.k1 = tf.Variable(rng.normal(0, 0.3, (3, 3, 3, 8)).astype(np.float32))
        self.k2 = tf.Variable(rng.normal(0, 0.3, (3, 3, 8, 1)).astype(np.float32))

    @tf.function(input_signature=[tf.TensorSpec((SIZE, SIZE, 3), tf.float32)])
    def risk(self, state):
        h = tf.nn.relu(tf.nn.conv2d(state[None], self.k1, 1, "SAME"))
        return tf.sigmoid(tf.nn.conv2d(h, self.k2, 1, "SAME"))[0, :, :, 0]


class Terrain:
    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.fuel = rng.random((SIZE, SIZE)).astype(np.float32)
        self.height = rng.random((SIZE, SIZE)).astype(np.float32)
        self.burning = np.zeros((SIZE, SIZE), bool)
        self.burning[SIZE // 2, SIZE // 2] = True

    def features(self):
        return np.stack([self.fuel, self.height, self.burning.astype(np.float32)], axis=-1)

    def near_fire(self):
        b = self.burning
        near = b.copy()
        near[1:] |= b[:-1]
        near[:-1] |= b[1:]
        near[:, 1:] |= b[:, :-1]
        near[:, :-1] |= b[:, 1:]
        return near


def spread(terrain, risk):
    near = terrain.near_fire()
    nxt = terrain.burning.copy()
    for r in range(SIZE):
        for c in range(SIZE):
            if risk[r, c] > THRESHOLD and near[r, c]:
                nxt[r, c] = True
    terrain.burning = nxt
    terrain.fuel = np.where(nxt, terrain.fuel * 0.97, terrain.fuel).astype(np.float32)


def main():
    net, terrain = RiskNet(20), Terrain(20)
    for hour in range(HOURS):
        risk = net.risk(tf.constant(terrain.features()))
        spread(terrain, risk)
        if hour % 5 == 0:
            print(f"hour {hour:3d}: {int(terrain.burning.sum())} cells burning", flush=True)
    print("burnt share", terrain.burning.mean().round(3))


if __name__ == "__main__":
    main()
