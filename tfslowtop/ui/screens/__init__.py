"""One module per screen: the two main screens on their common base, and the screens that open over them.

A screen arranges widgets and fills them from a view. It starts and stops nothing: it posts a message, and
the app acts on it.
"""
