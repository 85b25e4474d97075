"""What several detectors read off the facts: traces, eager ops, memory growth, creation of objects, machine episodes.

What only one detector needs is in its own module in `causes/`.
"""
