"""Changes to the user's source that follow from its syntax.

The change for a cause is in the module of its detector; here is what those changes share.
"""
