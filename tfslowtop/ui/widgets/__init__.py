"""What screens are made of, one folder per area. `footer.py` is on every screen.

Widgets are given values and post messages. They know neither the run nor the app that shows them.
"""
