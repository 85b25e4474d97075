"""The change to make, in the user's own lines: before and after, where it follows from the syntax."""

from __future__ import annotations

from collections.abc import Callable

from ..finding import Finding
from ..place import Place, locate
from . import changes
from .changes import Change


def rewritten(f: Finding, source: str) -> Change | None:
    """`source` is the text of the file that the finding names."""
    rewrite = _REWRITES.get(f.cause)
    place = locate(source, f.line) if rewrite is not None else None
    if rewrite is None or place is None:
        return None
    change = rewrite(place, f)
    return change if change is not None and change.before != change.after else None


_REWRITES: dict[str, Callable[[Place, Finding], Change | None]] = {
    "retrace-python-value": changes.wrap_argument("tf.constant({})"),
    "retrace-dtype": changes.wrap_argument("tf.cast({}, tf.{dtype})"),
    "retrace-structure": changes.wrap_argument("tf.stack({})"),
    "retrace-shape": changes.reduce_retracing,
    "retrace-object": changes.hoist_object,
    "function-recreated": changes.hoist,
    "model-recreated": changes.hoist,
    "optimizer-recreated": changes.hoist,
    "variable-recreated": changes.hoist,
    "dataset-recreated": changes.iterate_once,
    "session-per-step": changes.turn_inside_out,
    "session-leak": changes.close,
    "graph-growth": changes.build_once,
    "eager-step": changes.decorate,
    "per-sample": changes.vectorize,
    "predict-loop": changes.call_directly,
    "input-bound": changes.map_in_parallel,
    "host-sync": changes.keep_as_tensors,
    "host-copy": changes.copy_once,
    "callback-heavy": changes.do_rarely,
    "tensor-leak": changes.keep_less,
    "python-leak": changes.keep_less,
    "gc-pause": changes.collect_once,
    "trace-slow": changes.loop_in_graph,
}
