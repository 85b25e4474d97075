"""The directory that PYTHONPATH names. It must contain nothing but `sitecustomize`."""
