"""Finds out why a program is slow: facts, detectors, and findings ordered by cost.

Each module in `causes/` holds a detector and everything about its causes; `registry` collects them, and `engine` runs
them. The package is pure: it reads the state and knows nothing about screens, processes or TensorFlow.
"""
