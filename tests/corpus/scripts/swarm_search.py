import tempfile

import numpy as np

from parts.journal import Journal

rng = np.random.default_rng(1)
journal = Journal(tempfile.mkdtemp())
birds = rng.normal(size=(60, 40))
speed = np.zeros_like(birds)
best = birds.copy()


def cost(x):
    return (x**2 - 10 * np.cos(6.28 * x)).sum(axis=1)


for step in range(9000):
    leader = best[np.argmin(cost(best))]
    speed = 0.7 * speed + rng.random() * (best - birds) + rng.random() * (leader - birds)
    birds = birds + speed
    better = cost(birds) < cost(best)
    best[better] = birds[better]
    journal.note(step, {"leader": leader.tolist(), "cost": cost(best).tolist(), "first": birds[0].tolist()})
print(cost(best).min())
