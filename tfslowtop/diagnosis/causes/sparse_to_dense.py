"""sparse-to-dense: a step uses a few rows of a large table, and updates all of them."""

from __future__ import annotations

from collections.abc import Iterator

from ...agent.protocol.names import TALLY_DENSE_ROWS
from ..cause import Area, Cause, Detector
from ..facts import Facts
from ..finding import Finding
from ..make import LARGE_SHARE, finding, ms
from ..names import DISPATCH_BOUND, EAGER_STEP, INPUT_BOUND, RETRACES, SPARSE_TO_DENSE
from ..readings.graphs import calls_with

#: Ops on the whole table: one or two, such as a norm or an L2 penalty, may be meant.
LEAST_OPS = 3
#: Calls before it is a habit.
LEAST_CALLS = 10

CAUSE = Cause(
    id=SPARSE_TO_DENSE,
    area=Area.STEP,
    headline="A few rows of a large table are used, and all of them updated",
    mechanism="The gradient of an embedding has the few rows that a step looked up. Converted to a dense tensor, clipped "
    "as one, or given to an optimizer with moments, it becomes as large as the table, in several copies.",
    advice="Keep the gradient as tf.IndexedSlices, and update the table with an optimizer that leaves other rows alone "
    "(SGD without momentum, or scatter_sub).",
    before="g = tf.convert_to_tensor(g)\ntable.assign_sub(rate * g)",
    after="table.scatter_sub(tf.IndexedSlices(rate * g.values, g.indices))",
    scenario=None,
    explained_by=(*RETRACES, INPUT_BOUND, DISPATCH_BOUND, EAGER_STEP),
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    for table in facts.tallies_of(TALLY_DENSE_ROWS):
        calls = [c for c in calls_with(facts, table) if c.calls >= LEAST_CALLS]
        if not calls or table.count < LEAST_OPS or not table.is_users:
            continue
        seconds = min(calls[0].seconds, facts.seconds) * table.size / 100
        yield finding(
            facts,
            CAUSE,
            table.site,
            f"A step of {calls[0].name} uses some rows of a table of {table.symbol}, and computes {table.count} "
            f"times with all of them: about {table.size} % of the {ms(calls[0].median)} of a call.",
            seconds,
            confidence="medium",
            at_most=True,
            symbol=table.symbol,
            least=LARGE_SHARE,
            ops=table.count,
        )


DETECTOR = Detector(detect, (CAUSE,))
