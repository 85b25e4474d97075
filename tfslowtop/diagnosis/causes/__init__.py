"""The detectors, one module per family of causes."""
