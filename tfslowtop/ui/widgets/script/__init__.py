"""Widgets of the script app: the findings and the streams."""
