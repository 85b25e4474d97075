"""Widgets of the scenario app: the catalogue, the card, the fixes and the captions of the tour."""
