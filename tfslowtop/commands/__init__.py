"""One module per command: its arguments and what it runs. Nothing heavy is imported before it is needed."""
