"""The part of tfslowtop that runs inside the watched process.

A user's interpreter loads it by its path, so it uses the standard library and relative imports only. What the
watcher makes of the events is in `state` and `diagnosis`.
"""
