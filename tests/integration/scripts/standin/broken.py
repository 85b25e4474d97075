"""Fails to import, in two steps."""

value = 1 / 0
