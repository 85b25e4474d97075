"""What lives inside the watched process: the standard library alone, relative imports only."""
