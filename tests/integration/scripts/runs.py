"""Runs on and on, printing and counting: `runs.py FILE [import] [stubborn] [seconds]`."""
# ruff: noqa

import os
import signal
import sys
import time

file = sys.argv[1]
if "import" in sys.argv:
    import tensorflow
if "stubborn" in sys.argv:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: print("not me", number, flush=True))
end = time.monotonic() + float(sys.argv[-1]) if sys.argv[-1].isdigit() else float("inf")
i = 0
try:
    while time.monotonic() < end:
        hooked = any(type(finder).__module__.startswith("_tfslowtop") for finder in sys.meta_path)
        print("line", i, "watched" if hooked else "alone", flush=True)
        i += 1
        with open(f"{file}.new", "w") as out:
            out.write(str(i))
        os.replace(f"{file}.new", file)
        time.sleep(0.02)
except KeyboardInterrupt:
    print("interrupted, cleaning up")
    sys.exit(7)
print("ran to its end")
