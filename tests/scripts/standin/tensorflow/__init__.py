"""A module of that name, for tests of what happens around the import: nothing of TensorFlow is in it."""

__version__ = "0.0"
