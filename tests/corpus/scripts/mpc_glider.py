"""Receding-horizon control of a glider: shoot a control sequence, apply the first
command, shift, repeat."""
import numpy as np
import tensorflow as tf

HORIZON = 12


def glide(state, lift):
    """One explicit step of the 2-D glider; state = (x, z, vx, vz)."""
    x, z, vx, vz = tf.unstack(state)
    speed = tf.sqrt(vx**2 + vz**2 + 1e-6)
    drag = 0.02 * speed
    ax = -drag * vx - lift * vz * 0.1
    az = -1.0 - drag * vz + lift * vx * 0.1
    return tf.stack([x + 0.1 * vx, z + 0.1 * vz, vx + 0.1 * ax, vz + 0.1 * az])


class Planner:
    def __init__(self, target, rate, warm_start=None):
        self.target = tf.constant(target, tf.float32)
        self.rate = rate
        start = np.zeros(HORIZON, np.float32) if warm_start is None else warm_start
        self.controls = tf.Variable(start)
        self.improve = tf.function(self._improve)

    def rollout_cost(self, state):
        cost = 0.0
        for t in range(HORIZON):
            state = glide(state, self.controls[t])
            cost += tf.reduce_sum((state[:2] - self.target) ** 2) * 1e-3
        return cost + 1e-2 * tf.reduce_sum(self.controls**2)

    def _improve(self, state):
        with tf.GradientTape() as tape:
            cost = self.rollout_cost(state)
        grad = tape.gradient(cost, self.controls)
        self.controls.assign_sub(self.rate * grad)
        self.controls.assign(tf.clip_by_value(self.controls, -3.0, 3.0))
        return cost

    def plan(self, state, iterations=15):
        for _ in range(iterations):
            cost = self.improve(state)
        return self.controls.numpy(), float(cost)


def fly(steps):
    rng = np.random.default_rng(3)
    state = np.array([0.0, 10.0, 8.0, 0.0], np.float32)
    warm = None
    for k in range(steps):
        planner = Planner(target=(30.0, 9.0), rate=0.05, warm_start=warm)
        controls, cost = planner.plan(tf.constant(state))
        gust = 0.02 * rng.normal(size=4).astype(np.float32)
        state = glide(tf.constant(state), tf.constant(controls[0])).numpy() + gust
        warm = np.append(controls[1:], 0.0).astype(np.float32)
        if k % 5 == 0:
            print(f"k={k:3d} x={state[0]:6.2f} z={state[1]:6.2f} cost={cost:.3f}")
    return state


if __name__ == "__main__":
    final = fly(20)
    print("arrived at", final[:2])
