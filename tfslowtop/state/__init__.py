"""What is known about a run: the session, which takes every event, its parts, and the immutable view that is
drawn from it. Pure: no screen, no processes, no clock of its own.
"""
