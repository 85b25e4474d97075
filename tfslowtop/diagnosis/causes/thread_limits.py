"""thread-limits: TensorFlow may use fewer threads than there are cores."""

from __future__ import annotations

from collections.abc import Iterator

from ...agent.protocol.names import ACTIVITY_EAGER, ACTIVITY_GRAPH, TALLY_THREAD_LIMIT
from ..cause import Area, Cause, Detector
from ..facts import Facts
from ..finding import Finding
from ..make import LARGE_SHARE, finding
from ..names import EAGER_STEP, RETRACES, THREAD_LIMITS
from ..rewriting.statement import Change, Statement, called_name

#: The share of the account that TensorFlow computes: below, more threads bring next to nothing.
COMPUTING = 0.5
#: Seconds of the account before its shares are worth a number.
ENOUGH = 3.0
#: Seconds per call of what is computed: a shorter one is not divided among threads.
DIVISIBLE = 2e-3


def _remove(statement: Statement, found: Finding) -> Change | None:
    """Remove the limit, where the statement does nothing else."""
    if not any(called_name(call).endswith("_parallelism_threads") for call in statement.calls()):
        return None
    return Change(statement.edited(), f"# {statement.edited()}")


CAUSE = Cause(
    id=THREAD_LIMITS,
    area=Area.STEP,
    headline="TensorFlow may use fewer threads than there are cores",
    mechanism="An op such as a convolution is divided among the threads of one pool. With fewer threads than cores, the "
    "other cores are idle while the step waits.",
    advice="Remove the limit, or set it to the number of cores, unless other processes need them.",
    before="tf.config.threading.set_intra_op_parallelism_threads(1)",
    after="# removed: TensorFlow uses a thread per core",
    scenario=None,
    explained_by=(*RETRACES, EAGER_STEP),
    change=_remove,
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    limits, account = facts.tallies_of(TALLY_THREAD_LIMIT), facts.account
    if not limits or account.seconds < ENOUGH:
        return
    limit = limits[0]
    rows = [row for row in account.rows if row.activity in (ACTIVITY_GRAPH, ACTIVITY_EAGER)]
    computing = sum(row.seconds for row in rows if row.seconds >= DIVISIBLE * row.calls)
    share, idle = computing / account.seconds, 1 - limit.size / limit.count
    if share < COMPUTING:
        return
    where = "in this line" if limit.file else "by the environment variable TF_NUM_INTRAOP_THREADS"
    yield finding(
        facts,
        CAUSE,
        limit.site,
        f"TensorFlow computes {100 * share:.0f} % of the time, with {limit.size} of {limit.count} cores: its threads are "
        f"limited {where}.",
        share * facts.seconds * idle,
        symbol="threads",
        confidence="medium",
        at_most=True,
        least=LARGE_SHARE,
        cores=limit.count,
        threads=limit.size,
    )


DETECTOR = Detector(detect, (CAUSE,))
