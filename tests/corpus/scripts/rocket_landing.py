import numpy as np
import tensorflow as tf

HORIZON = 110
DT = 0.14
GRAVITY = tf.constant([0.0, -1.62])


class LanderProblem(tf.Module):
    """Open-loop thrust profile that brings a lander to rest, for a batch of start states."""

    def __init__(self, n_starts, seed):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.pos0 = tf.constant(rng.normal([0.0, 40.0], [6.0, 3.0], (n_starts, 2)), tf.float32)
        self.vel0 = tf.constant(rng.normal([0.0, -2.0], [1.0, 0.5], (n_starts, 2)), tf.float32)
        self.thrust = tf.Variable(np.tile([[[0.0, 0.5]]], (n_starts, HORIZON, 1)).astype(np.float32))
        self.gimbal = tf.Variable(np.zeros((n_starts, HORIZON), np.float32))
        self.opt = tf.keras.optimizers.Adam(0.03)
        self.opt.build([self.thrust, self.gimbal])

    def dynamics(self, pos, vel, mass, thrust, gimbal):
        mag = 3.5 * tf.sigmoid(thrust[:, 1:]) / mass
        angle = 0.4 * tf.tanh(gimbal)[:, None] + 0.05 * tf.tanh(thrust[:, :1])
        acc = tf.concat([mag * tf.sin(angle), mag * tf.cos(angle)], 1) + GRAVITY
        drag = 0.002 * vel * tf.norm(vel, axis=1, keepdims=True)
        vel = vel + DT * (acc - drag)
        return pos + DT * vel, vel, mass - 0.0005 * mag

    @tf.function
    def improve(self):
        with tf.GradientTape() as tape:
            pos, vel = self.pos0, self.vel0
            mass = tf.ones_like(pos[:, :1])
            fuel = 0.0
            for t in range(HORIZON):
                pos, vel, mass = self.dynamics(pos, vel, mass, self.thrust[:, t], self.gimbal[:, t])
                fuel += tf.reduce_mean(1.0 - mass)
            miss = tf.reduce_mean(tf.reduce_sum(tf.square(pos), 1))
            speed = tf.reduce_mean(tf.reduce_sum(tf.square(vel), 1))
            cost = miss + 5.0 * speed + 0.01 * fuel
        variables = [self.thrust, self.gimbal]
        self.opt.apply_gradients(zip(tape.gradient(cost, variables), variables))
        return cost, miss, speed


def main():
    tf.random.set_seed(0)
    problem = LanderProblem(n_starts=24, seed=9)
    for it in range(60):
        cost, miss, speed = problem.improve()
        if it % 10 == 0:
            print(f"iter {it:3d}  cost {float(cost):9.2f}  miss {float(miss):8.2f}  speed {float(speed):7.2f}")
    print(f"final miss {float(miss):.2f}")


if __name__ == "__main__":
    main()
