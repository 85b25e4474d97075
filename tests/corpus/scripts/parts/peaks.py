import numpy as np


def smooth(signal, width):
    kernel = np.ones(width) / width
    return np.convolve(signal, kernel, mode="same")


def find_peaks(signal, level):
    peaks = np.empty(0, dtype=int)
    heights = np.empty(0)
    for k in range(1, len(signal) - 1):
        if signal[k] > level and signal[k - 1] < signal[k] > signal[k + 1]:
            peaks = np.append(peaks, k)
            heights = np.append(heights, signal[k])
    return peaks, heights
