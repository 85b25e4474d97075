"""Without a terminal: text and JSON on standard output, narration on standard error."""
