"""The process that holds a script's terminal, so that the script outlives its watcher. Standard library only;
it relays frames and never interprets them.
"""
