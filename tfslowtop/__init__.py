"""tfslowtop: why TensorFlow or NumPy code is slow, gets slower, or eats memory, live in a terminal."""

__version__ = "0.1.0"
