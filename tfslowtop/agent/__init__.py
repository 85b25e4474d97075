"""The part that lives inside the watched process.

It uses the standard library alone and relative imports only, because a user's interpreter loads it by its
path. What the watcher does with it is in `state` and `diagnosis`.
"""
