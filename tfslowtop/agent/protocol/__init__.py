"""What the agent and the watcher say to each other: events, commands, their form on the wire, and the
channel. The watcher imports these modules, too.
"""
