"""Everything about tf.function: its calls, its traces and why they happened, and the shapes XLA compiles
for.
"""
