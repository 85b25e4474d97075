"""Series, trends and effects over arrays. Pure NumPy; knows nothing about TensorFlow or screens."""
