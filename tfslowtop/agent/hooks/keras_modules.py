"""Where Keras keeps what the hooks patch.

Keras 3 is the package `keras`. Keras 2 has had three names: `keras` up to TensorFlow 2.12, `keras.src` up to
2.15, and `tf_keras.src` since then. Its modules are called the same in all of them.
"""

from __future__ import annotations

import sys

_KERAS_2 = ("keras.", "keras.src.", "tf_keras.src.")


def keras_2(module: str) -> tuple[str, ...]:
    """Return the full names that a module of Keras 2 has had."""
    return tuple(package + module for package in _KERAS_2)


def is_keras_2(name: str) -> bool:
    """Whether it is a module of Keras 2: Keras 3 and the public API have modules of the same names."""
    if name.startswith("keras.src."):
        return "keras.src.backend.common" not in sys.modules
    return name.startswith("tf_keras.src.") or "keras.src" not in sys.modules
