"""Finds out what repeats: loops in bytecode, iterations as hooked calls happen, and which stream is the
step.
"""
