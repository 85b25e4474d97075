"""How a user's interpreter loads the agent, and what the agent needs from Python itself.

`path/` holds the sitecustomize that PYTHONPATH names, `connection` the socket to the watcher; `import_watch`
and `forks` report imports and forks. What is done with a loaded TensorFlow is in `hooks`.
"""
