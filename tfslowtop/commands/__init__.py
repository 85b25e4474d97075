"""One module per command, each with `add_arguments(parser)` and `run(options)`; `main` parses and dispatches.

What several commands share is in `parser`, `numbers`, `output`, `scenarios` and `headless`. Nothing here does
any work of its own, and nothing heavy is imported before a command runs.
"""
