"""What works without a terminal: summaries, JSON, the limits of `check` and the table of `verify`.

A script's summary goes to standard error, because standard output is the script's own. All other results go
to standard output or a file. Parsing the command line is the job of `commands`.
"""
