"""Readings of the host and the GPUs, taken from outside the target. They become gauges like those of the
target; what they mean is decided in `state` and `diagnosis`.
"""
