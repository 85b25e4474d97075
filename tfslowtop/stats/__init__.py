"""Statistics over arrays: series, trends, effects. Pure NumPy; it knows nothing about events, TensorFlow or
screens.
"""
