"""python-op: a Python function is called for each item, from inside TensorFlow or NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...agent.protocol.names import STREAM_PYTHON_OP
from ..busy import seen
from ..cause import Area, Cause, Detector
from ..facts import Facts
from ..finding import Finding
from ..make import LARGE_SHARE, finding, ms
from ..names import PYTHON_OP
from ..readings.numpy_program import ALWAYS, is_numpy_program

#: Calls before they are more than a start.
LEAST_CALLS = 5
#: The share of the time in np.apply_along_axis or np.vectorize: what is computed for each item is in it, too.
NUMPY_SHARE = 0.3

CAUSE = Cause(
    id=PYTHON_OP,
    area=Area.STEP,
    headline="A Python function inside the computation holds up the step",
    mechanism="numpy_function and py_function leave the graph for the Python interpreter: one thread, no optimisation, "
    "and a copy each way.",
    advice="Write {function} with TensorFlow ops, or run it before the step.",
    before="y = tf.numpy_function({function}, [x], tf.float32)",
    after="y = ...  # the same with tf. ops",
    curve="Python ops",
    scenario="apply_along_axis",
)
#: The same in a program without TensorFlow.
WITH_NUMPY = replace(
    CAUSE,
    mechanism="np.apply_along_axis and np.vectorize are Python loops: each row or item costs a call of the function, and "
    "of the NumPy functions in it.",
    advice="Write it for whole arrays, with axis= where the NumPy function has one.",
    before="y = np.apply_along_axis(f, 1, x)",
    after="y = x.mean(axis=1)  # f for all rows at once",
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    """A Python op that the step waits for; one in an input pipeline is reported as input-bound."""
    ops = [c for c in facts.streams_of(STREAM_PYTHON_OP) if c.calls >= LEAST_CALLS]
    if ops:
        worst = ops[0]
        yield finding(
            facts,
            CAUSE,
            worst.site,
            f"{worst.name} runs in the Python interpreter, {worst.calls:,} times, {ms(worst.median)} each: "
            f"{100 * facts.share(worst.seconds):.0f} % of the time.",
            worst.seconds,
            symbol=worst.name,
            least=LARGE_SHARE,
            calls=worst.calls,
            words={"function": worst.name},
        )
    if is_numpy_program(facts):
        yield _numpy(facts, "apply_along_axis", "np.apply_along_axis")
        yield _numpy(facts, "_vectorize", "np.vectorize")


def _numpy(facts: Facts, callee: str, name: str) -> Finding | None:
    """Report a NumPy function that calls a Python function for each item."""
    lines = seen(facts, lambda b: b.callee.startswith(callee), late=ALWAYS)
    site, seconds = next(iter(lines.items()), (("", 0), 0.0))
    return finding(
        facts,
        WITH_NUMPY,
        site,
        f"{name} calls a Python function for each item at this line: {seconds:.1f} s, "
        f"{100 * facts.share(seconds):.0f} % of the time.",
        seconds,
        symbol=name,
        least=NUMPY_SHARE,
    )


DETECTOR = Detector(detect, (CAUSE,))
