"""Prints everything about itself in which a watched process might differ from a bare one."""
# ruff: noqa

import atexit
import os
import resource
import signal
import subprocess
import sys

modules = sorted(sys.modules)
if "import" in sys.argv:
    import tensorflow

    print(tensorflow.__spec__, tensorflow.__loader__, tensorflow.__path__, tensorflow.__version__)
import threading

print(__name__, __file__, __package__, __spec__, __builtins__, __doc__)
print(sys.argv, sys.orig_argv, sys.executable, sys.flags, sys.warnoptions, sys._xoptions)
print(sys.path, sorted(sys.path_importer_cache) if "import" not in sys.argv else "")
print([type(f).__name__ if not isinstance(f, type) else f for f in sys.meta_path[-3:]])
if "import" not in sys.argv:
    print(modules)
print(ascii(list(os.environ.items())))
print(subprocess.run("env; ls /proc/self/fd", shell=True, capture_output=True, close_fds=False).stdout)
print(os.getcwd(), os.umask(0o22), os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0))
print([(n, signal.getsignal(n)) for n in sorted(signal.valid_signals())], signal.pthread_sigmask(0, ()))
print([resource.getrlimit(n) for n in range(16)])
print(threading.enumerate(), threading.active_count(), sys.gettrace())
print(os.open(__file__, os.O_RDONLY), sys.stdin.isatty(), sys.stdout.isatty(), sys.stderr.isatty())
print(sys.stdin.encoding, sys.stdout.encoding, sys.stdout.line_buffering, sys.stderr.errors)
print(sys.excepthook, sys.unraisablehook, threading.excepthook, sys.displayhook)
atexit.register(lambda: print("last", sys.modules["__main__"], file=sys.stderr))
