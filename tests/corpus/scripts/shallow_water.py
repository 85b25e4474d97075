import numpy as np


class Basin:
    def __init__(self, n):
        y, x = np.mgrid[0:n, 0:n] / n
        self.h = 1.0 + 0.1 * np.exp(-200 * ((x - 0.5) ** 2 + (y - 0.5) ** 2))
        self.u = np.zeros((n, n))
        self.v = np.zeros((n, n))

    def advance(self, dt):
        for field, axis in ((self.u, 0), (self.v, 1)):
            field -= dt * (np.roll(self.h, -1, axis) - np.roll(self.h, 1, axis))
        flow = np.roll(self.u, -1, 0) - np.roll(self.u, 1, 0) + np.roll(self.v, -1, 1) - np.roll(self.v, 1, 1)
        self.h = self.h - dt * flow


basin = Basin(700)
levels = []
for i in range(450):
    basin.advance(0.05)
    if i % 25 == 0:
        levels.append(float(basin.h.max()))
        print(i, levels[-1])
