import sys

print(__name__, __package__, __spec__.name, __file__, sys.argv, repr(sys.path[0]))
