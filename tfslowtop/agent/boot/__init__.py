"""How a user's interpreter loads the agent and keeps it out of the way: `path/` holds the sitecustomize
that PYTHONPATH names, `connection` the socket to the watcher, `import_watch` and `forks` what Python
tells us.
"""
