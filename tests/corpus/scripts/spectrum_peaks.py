import numpy as np

from parts.peaks import find_peaks, smooth

rng = np.random.default_rng(0)
counts = []
for scan in range(40):
    spectrum = rng.normal(size=120_000)
    peaks, heights = find_peaks(smooth(spectrum, 3), 0.2)
    counts.append(len(peaks))
print(np.mean(counts))
