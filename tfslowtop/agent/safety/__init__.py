"""What keeps us harmless inside somebody else's process: signal handlers, pending calls, frames of other
threads, weak references.
"""
