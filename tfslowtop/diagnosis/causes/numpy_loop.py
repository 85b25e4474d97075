"""numpy-loop: Python goes through arrays one element or one small piece at a time."""

from __future__ import annotations

from collections.abc import Iterator

from ..cause import Area, Cause, Detector
from ..facts import Facts
from ..finding import Finding
from ..make import finding
from ..names import GROWING_INPUT, INPUT_BOUND, NUMPY_LOOP, PYTHON_OP
from ..readings.python_lines import Place, Work, python_places

#: The share of the account that one such loop takes. Below, most of the program is something else, and what a rewritten
#: loop saves is soon less than the effort.
MUCH = 0.3
#: Seconds of the account, with twenty samples each: fewer do not tell a loop from a start.
ENOUGH = 3.0

#: What to do instead.
_ADVICE = {
    Work.JOIN: "Collect the pieces in a list and join them once, after the loop.",
    Work.CONVERT: "Keep the data in one array and write into it, instead of converting all of it each time.",
    Work.VECTORIZE: "Write it for whole arrays: np.vectorize and apply_along_axis are loops in Python.",
    Work.ELEMENTS: "Write it for whole arrays, with slices and axis=; or compile the loop with Numba.",
    Work.SMALL_ARRAYS: "Stack the pieces to one array and call NumPy once for all of them.",
}

CAUSE = Cause(
    id=NUMPY_LOOP,
    area=Area.STEP,
    headline="Python goes through arrays one element at a time",
    mechanism="Each access to an element and each NumPy call on a small piece passes through the interpreter and makes a "
    "new object, which takes a hundred times as long as the arithmetic. NumPy is fast for whole arrays only.",
    advice=_ADVICE[Work.ELEMENTS],
    before="for i in range(len(x)):\n    y[i] = a * x[i] + b",
    after="y = a * x + b",
    scenario="interpreter_overhead",
    explained_by=(GROWING_INPUT, PYTHON_OP, INPUT_BOUND),
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    """A loop over arrays that keeps the interpreter busy, with TensorFlow or without."""
    if facts.account.seconds < ENOUGH:
        return
    for place in python_places(facts):
        if place.work in _ADVICE and place.repeats and _is_slow(place):
            yield _report(facts, place)


def _is_slow(place: Place) -> bool:
    """Whether Python takes the time: converting and joining copy in compiled code, and are slow all the same."""
    return place.is_python or place.work in (Work.JOIN, Work.CONVERT)


def _report(facts: Facts, place: Place) -> Finding | None:
    seconds = place.line_seconds if place.work in (Work.JOIN, Work.CONVERT) else place.seconds
    share = seconds / facts.account.seconds
    detail = f" (`{place.detail}`)" if place.detail else ""
    return finding(
        facts,
        CAUSE,
        place.site,
        f"{100 * share:.0f} % of the time goes to code that {place.work.value}{detail}.",
        share * facts.seconds,
        symbol=place.work.name.lower().replace("_", " "),
        at_most=True,
        least=MUCH,
        advice=_ADVICE[place.work],
        work=place.work.name.lower(),
    )


DETECTOR = Detector(detect, (CAUSE,))
