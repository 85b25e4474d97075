"""Pure computation on what was recorded: no threads, no I/O, no screen, no TensorFlow."""
