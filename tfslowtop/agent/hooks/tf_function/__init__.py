"""Everything about tf.function: its calls, its traces and their reasons, and the shapes that XLA compiles.
Ops that run outside any function are in `eager_ops`.
"""
