"""How a user's own interpreter loads the agent: PYTHONPATH names `path/`, and `session` does the rest."""
