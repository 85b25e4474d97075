import numpy as np

rng = np.random.default_rng(7)
SIZE, BETA = 48, 0.44


def energy(spins):
    total = 0.0
    for i in range(SIZE):
        for j in range(SIZE):
            total -= spins[i, j] * (spins[(i + 1) % SIZE, j] + spins[i, (j + 1) % SIZE])
    return total


spins = rng.choice([-1, 1], size=(SIZE, SIZE))
measured = []
for sweep in range(3000):
    row, column = rng.integers(SIZE, size=2)
    before = energy(spins)
    spins[row, column] *= -1
    if rng.random() >= np.exp(-BETA * (energy(spins) - before)):
        spins[row, column] *= -1
    measured.append(spins.mean())
print(np.mean(measured[-500:]))
