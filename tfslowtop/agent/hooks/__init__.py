"""The hooks: one module per thing that is watched, with the functions of TensorFlow or Keras that it wraps.

`base` is the base class, `context` what all of them share, `patch` how a wrapper is installed. Finding loops
from the calls that hooks see is the job of `steps`.
"""
