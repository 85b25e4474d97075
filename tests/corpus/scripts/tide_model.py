import csv
import logging
import tempfile

import numpy as np

logging.basicConfig(filename=tempfile.mktemp(), level=logging.INFO)
rng = np.random.default_rng(2)
level = rng.random((600, 600))
rows = []
for hour in range(700):
    level = level + 0.1 * (np.roll(level, 1, 0) + np.roll(level, -1, 1) - 2 * level)
    rows.append([hour, float(level.mean()), float(level.std())])
    if hour % 10 == 0:
        logging.info("hour %d mean %.4f", hour, rows[-1][1])
        print(hour, rows[-1])
with open(tempfile.mktemp(), "w", newline="") as f:
    csv.writer(f).writerows(rows)
