"""The scenarios: finding them, running their kernels, and showing the code of an iteration."""
