"""One module per detector, with the causes it can find: texts, rule, thresholds, example and change to the source.

Each module defines `DETECTOR`; the registry finds it by walking this package. What several detectors read off the
facts is in `readings/`, and what several changes share is in `rewriting/`.
"""
