"""Numbers in JSON."""

from __future__ import annotations


def known(value: object) -> object:
    """The same data with null for what is not known: NaN and infinity are no JSON."""
    if isinstance(value, dict):
        return {key: known(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [known(item) for item in value]
    return None if isinstance(value, float) and value - value != 0 else value
