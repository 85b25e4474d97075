"""Numbers in JSON."""

from __future__ import annotations


def known(value: object) -> object:
    """Return the same data with None for NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {key: known(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [known(item) for item in value]
    return None if isinstance(value, float) and value - value != 0 else value
