import os
import tempfile

import numpy as np

rng = np.random.default_rng(0)
place = rng.random((1500, 3))
speed = rng.normal(size=(1500, 3)) * 0.01
out = os.path.join(tempfile.mkdtemp(), "tracks.txt")
for step in range(2200):
    speed += 0.001 * np.cos(9 * place)
    place = (place + 0.01 * speed) % 1.0
    with open(out, "a") as tracks:
        for x, y, z in place:
            tracks.write(f"{step} {x:.6f} {y:.6f} {z:.6f}\n")
print(os.path.getsize(out))
