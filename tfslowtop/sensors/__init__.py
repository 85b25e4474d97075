"""What the machine says about the target, read from outside of it."""
