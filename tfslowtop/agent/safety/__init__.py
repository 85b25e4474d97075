"""What keeps the agent harmless inside somebody else's process: exceptions of signal handlers, pending calls,
frames of other threads, weak references. It knows nothing about TensorFlow.
"""
