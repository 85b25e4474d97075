"""Finds what repeats: loops in bytecode, iterations seen through hooked calls, and which stream is the step.
What a call does is found out in `hooks`.
"""
