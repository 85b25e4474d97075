"""One module per thing that is watched, each with the places in TensorFlow or Keras that it wraps.

`base` is what a hook is, `context` what all of them share.
"""
