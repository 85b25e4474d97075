"""Calls of the functions whose graphs were looked at."""

from __future__ import annotations

from ...agent.protocol.names import STREAM_FUNCTION, STREAM_LIBRARY_FUNCTION
from ..facts import Facts, StreamFacts, TallyFacts


def calls_with(facts: Facts, graph: TallyFacts) -> list[StreamFacts]:
    """Return the calls of a function, by what was found in its graph, most expensive first.

    Keras calls its step through another function of the same file, which then has all of the calls.
    """
    calls = facts.streams_of(STREAM_FUNCTION, STREAM_LIBRARY_FUNCTION)
    own = [c for c in calls if c.site == (graph.module, graph.function_line)]
    return own or [c for c in calls if c.library and c.file == graph.module]
