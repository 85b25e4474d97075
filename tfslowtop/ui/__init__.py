"""The Textual app. Nothing imports it but the command line, late."""
