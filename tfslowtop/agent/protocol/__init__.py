"""The language between agent and watcher: events and commands, the names in them, their form on the wire, and
the channel. Both sides import it; it knows nothing about hooks or analysis.
"""
