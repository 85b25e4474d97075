"""Runs in a child process that loads the stand-in: reads when told to, and hands back what it read.

Standard input: a pickled tuple of pids for each reading. Standard output: the pickled `GpuReading`.
Arguments: the keywords for `GpuSensor`, as JSON.
"""

from __future__ import annotations

import json
import pickle
import sys

from tfslowtop.sensors.gpu import GpuSensor


def main() -> None:
    sensor = GpuSensor(**json.loads(sys.argv[1]))
    while True:
        try:
            pids = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(sensor.read(pids), sys.stdout.buffer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
