import tensorflow as tf

mu = tf.constant(1.5, tf.float64)


@tf.function
def rhs(s):
    x, v = s[0], s[1]
    return tf.stack([v, mu * (1 - x**2) * v - x])


@tf.function
def energy(s):
    return 0.5 * tf.reduce_sum(s**2)


def rk4(s, dt):
    k1 = rhs(s)
    k2 = rhs(s + dt / 2 * k1)
    k3 = rhs(s + dt / 2 * k2)
    k4 = rhs(s + dt * k3)
    return s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


state = tf.constant([[0.5, 1.0], [0.0, 0.1]], tf.float64)
t, dt, trace = 0.0, 0.05, []
while t < 2.0 - 1e-9:
    state = rk4(state, dt)
    t += dt
    if len(trace) < t / 0.5:
        trace.append(energy(state).numpy())
# expect: 40 | while t < 2.0 - 1e-9
