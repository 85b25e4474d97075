"""Every kind of child process."""
# ruff: noqa

import concurrent.futures
import multiprocessing
import os
import subprocess
import sys

if sys.argv[1] == "early":
    import tensorflow


class Point:
    def __init__(self, x):
        self.x = x


def work(point):
    import tensorflow

    ours = [name for name in os.environ if "TFSLOWTOP_ATTACH" in name] + [
        p for p in sys.path if "bootstrap" in p
    ]
    return Point(point.x + 1), tensorflow.__version__, ours, "_tfslowtop_agent" in sys.modules


def main():
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        with context.Pool(2) as pool:
            print(method, [(p.x, *rest[:2]) for p, *rest in pool.map(work, [Point(1), Point(2)])])
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as executor:
            print(method, executor.submit(work, Point(5)).result()[0].x)
    code = "import os, sys; print(sys.path, os.environ.get('PYTHONPATH'), type(sys.meta_path[0]).__name__)"
    print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


if __name__ == "__main__":
    main()
