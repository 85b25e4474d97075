"""A program that is two processes: one is watched, and both come to the same results."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from paths import PROGRAMS

SCRIPT = PROGRAMS / "workers.py"


def free_ports(count: int) -> list[str]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("localhost", 0))
    ports = [str(one.getsockname()[1]) for one in sockets]
    for one in sockets:
        one.close()
    return ports


@pytest.mark.tensorflow
def test_one_of_two_workers_is_watched(tmp_path):
    watch = [sys.executable, "-m", "tfslowtop", "--headless", "--json", "out.json", "--attach"]
    ports = free_ports(2)
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    workers = [
        subprocess.Popen(
            [*start, str(SCRIPT), *ports, number],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for start, number in ((watch, "0"), ([sys.executable], "1"))
    ]
    try:
        ends = [worker.communicate(timeout=90) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    assert [worker.returncode for worker in workers] == [4, 4], ends
    results = [next(line for line in out.splitlines() if line.startswith("result")) for out, _ in ends]
    assert results[0] == results[1]
    step = next(s for s in json.loads((tmp_path / "out.json").read_text())["streams"] if s["is_step"])
    assert (Path(step["file"]).name, step["calls"]) == ("workers.py", 25)
    assert "for _ in range(25)" in SCRIPT.read_text().splitlines()[step["line"] - 1]
