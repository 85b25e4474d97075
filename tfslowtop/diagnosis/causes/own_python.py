"""own-python: the user's own Python, and not TensorFlow or NumPy, takes most of the time."""

from __future__ import annotations

from collections.abc import Iterator

from ..cause import Area, Cause, Detector
from ..facts import Facts
from ..finding import Finding
from ..make import finding, ms
from ..names import (
    CALLBACK_HEAVY,
    EAGER_STEP,
    GROWING_INPUT,
    HOST_COPY,
    HOST_SYNC,
    INPUT_BOUND,
    NUMPY_LOOP,
    OUTPUT_BOUND,
    OWN_PYTHON,
    PER_SAMPLE,
    PREDICT_LOOP,
    PYTHON_OP,
    RECREATED,
)
from ..readings.python_lines import Place, Work, python_places

#: The share of the account that has to be Python of the program's own: TensorFlow is not what makes it slow then.
MOST = 0.5
#: Seconds of the account, with twenty samples each: fewer do not tell a loop from a start.
ENOUGH = 3.0

#: What to do about it.
_ADVICE = {
    Work.DEEPCOPY: "Copy only what changes, or write a copy() for the class: deepcopy visits every object.",
    Work.JSON: "Convert once, before or after the loop, or keep the data as arrays.",
    Work.SEARCH: "Use a set or a dict for membership, and a deque where the first entry is taken.",
    Work.INDEX: "Keep the numbers in an array and compute with all of them at once.",
    Work.PYTHON: "Do it for whole arrays with NumPy or TensorFlow, do it less often, or compile it with Numba.",
}
#: Without TensorFlow all of a program is its own Python, so that only what is known to be slow is worth a word.
_KNOWN = (Work.DEEPCOPY, Work.JSON, Work.SEARCH)

CAUSE = Cause(
    id=OWN_PYTHON,
    area=Area.HOST,
    headline="Your own Python takes most of the step",
    mechanism="The interpreter handles one object at a time on one core. While it does, TensorFlow waits, however fast "
    "the model is.",
    advice=_ADVICE[Work.PYTHON],
    before="while item in seen_list:\n    item = draw()",
    after="while item in seen_set:  # seen_set = set(seen_list), once\n    item = draw()",
    scenario="interpreter_overhead",
    explained_by=(
        NUMPY_LOOP,
        INPUT_BOUND,
        OUTPUT_BOUND,
        CALLBACK_HEAVY,
        GROWING_INPUT,
        PYTHON_OP,
        PREDICT_LOOP,
        *RECREATED,
        EAGER_STEP,
        HOST_SYNC,
        HOST_COPY,
        PER_SAMPLE,
    ),
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    """Python of the program's own that takes most of the account."""
    if facts.account.seconds < ENOUGH:
        return
    places = [p for p in python_places(facts) if p.repeats and p.is_python and p.work in _ADVICE]
    if facts.alone or facts.step is None:
        places = [p for p in places if p.work in _KNOWN]
    if places:
        yield _report(facts, places)


def _report(facts: Facts, places: list[Place]) -> Finding | None:
    worst, account = places[0], facts.account
    total = sum(p.seconds for p in places)
    share, alone = total / account.seconds, worst.seconds / account.seconds
    per_step = f", {ms(account.per_step(total))} per step" if account.steps else ""
    detail = f" (`{worst.detail}`)" if worst.detail else ""
    return finding(
        facts,
        CAUSE,
        worst.site,
        f"{100 * share:.0f} % of the time is Python of your own{per_step}; {100 * alone:.0f} % is code here that "
        f"{worst.work.value}{detail}.",
        share * facts.seconds,
        symbol=worst.work.name.lower(),
        at_most=True,
        least=MOST,
        advice=_ADVICE[worst.work],
        work=worst.work.name.lower(),
        lines=len(places),
    )


DETECTOR = Detector(detect, (CAUSE,))
