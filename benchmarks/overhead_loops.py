"""The programs of bench_overhead.py: three plain TensorFlow loops, which know nothing of being watched.

    python benchmarks/overhead_loops.py RESULT.json SECONDS CASE=SIZE ...

runs each case for that long, in blocks, and writes what a step took: wall time, CPU time of the process and
CPU time of the main thread, in nanoseconds, as the median over the blocks. SIZE is what `sizes` found on this
machine, so that every process does the same work.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

#: A loop over something: a step for each item.
Loop = Callable[[Iterable[object]], None]
Row = tuple[float, ...]

#: Seconds of the timed steps; 0 is the smallest call that does anything.
TARGETS = {
    "tf.function, 1 ms": 1e-3,
    "tf.function, 0.1 ms": 1e-4,
    "tf.function, 0.1 ms, result pulled": 1e-4,
    "tf.function, smallest": 0.0,
}
EAGER = "eager loop of tiny ops"
CASES = (*TARGETS, EAGER)

#: Seconds that a case runs before it is timed: by then a watched loop has been found out.
WARM_UP = 3.0
_BLOCK = 0.1


def quiet_tensorflow() -> None:
    """One thread each: what the neighbours on a shared machine do to more of them is not the question."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def case(name: str, size: int) -> Loop:
    import tensorflow as tf

    if name == EAGER:
        x = tf.random.normal([4, 4])

        def eager(items: Iterable[object]) -> None:
            for _ in items:
                y = x + 1.0
                y = tf.tanh(y)
                y = y * x
                y = tf.reduce_sum(y)

        return eager

    w = tf.Variable(tf.random.normal([48, 48]) / 7)
    x = tf.random.normal([48, 48])

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        for _ in range(size):
            x = tf.tanh(x @ w)
        return tf.reduce_sum(x)

    def call(items: Iterable[object]) -> None:
        for _ in items:
            step(x)

    def pull(items: Iterable[object]) -> None:
        for _ in items:
            float(step(x))

    return pull if name.endswith("pulled") else call


def sizes() -> dict[str, int]:
    """How many layers make a step of the wanted length."""
    found = {EAGER: 1}
    for name, target in TARGETS.items():
        size = 1
        for _ in range(6):
            took = best(case(name, size))
            if not target or 0.9 * target < took < 1.1 * target:
                break
            one = best(case(name, 1))
            each = max((took - one) / max(size - 1, 1), 1e-6) if size > 1 else 1e-5
            size = max(1, 1 + round((target - one) / each))
        found[name] = size
    return found


def best(loop: Loop) -> float:
    """Seconds of a step, when nobody disturbs it."""
    loop(range(20))
    times = []
    for _ in range(30):
        start = time.perf_counter()
        loop(range(10))
        times.append((time.perf_counter() - start) / 10)
    return min(times)


def clocks() -> Row:
    """Nanoseconds: wall, CPU of the process, CPU of this thread."""
    return time.perf_counter_ns(), time.process_time_ns(), time.thread_time_ns()


def block(steps: int, rows: list[Row]) -> Iterator[int]:
    """So many items for a loop; what a step took is appended to `rows`."""
    before = clocks()
    yield from range(steps)
    rows.append(tuple((b - a) / steps for a, b in zip(before, clocks(), strict=True)))


def main(result: str, seconds: str, *cases: str) -> None:
    quiet_tensorflow()
    found = {}
    for each in cases:
        name, _, size = each.partition("=")
        loop = case(name, int(size))
        steps = max(2, int(_BLOCK / best(loop)))
        rows: list[Row] = []

        def items(steps: int = steps, rows: list[Row] = rows) -> Iterator[int]:
            end = time.perf_counter() + WARM_UP
            while time.perf_counter() < end:
                yield from range(steps)
            end = time.perf_counter() + float(seconds)
            while time.perf_counter() < end or len(rows) < 5:
                yield from block(steps, rows)

        loop(items())
        found[name] = [statistics.median(column) for column in zip(*rows, strict=True)]
    Path(result).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
