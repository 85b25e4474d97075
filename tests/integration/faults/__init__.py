"""The fault matrix: what goes wrong around a watched script, and what must be true all the same."""
