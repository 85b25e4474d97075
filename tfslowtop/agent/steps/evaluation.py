"""Tells loops that evaluate from loops that train: they compute, and no iteration ever changed a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..protocol.names import STREAM_DATA_WAIT, STREAM_LOOP, TALLY_EVALUATES
from ..tallies import Details
from .choice import ENOUGH
from .streams import CALL, DATA, KERAS, OP, RUN, UPDATE

if TYPE_CHECKING:
    from ..hooks.context import HookContext

_COMPUTES = CALL | KERAS | OP | RUN
#: The share of a loop's iterations that says what its iterations do.
_MOSTLY = 0.5


def note_evaluations(context: HookContext) -> None:
    """Count the iterations of loops that evaluate."""
    for loop in list(context.tracker.loops):
        if loop.kind != STREAM_LOOP or loop.count < ENOUGH or loop.did(_COMPUTES) < _MOSTLY:
            continue
        if loop.did(UPDATE):
            continue
        details = Details(loop.name, inside=STREAM_DATA_WAIT if loop.did(DATA) >= _MOSTLY else "")
        wall = loop.buffer.total_wall()
        context.tallies.put(TALLY_EVALUATES, details, loop.file, loop.line, loop.count, wall, loop.entries)
