"""The directory that PYTHONPATH names: nothing but `sitecustomize` may be found in it."""
