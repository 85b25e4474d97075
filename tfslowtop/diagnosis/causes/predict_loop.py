"""predict-loop: predict, evaluate or fit is called on a small input, again and again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...agent.protocol.names import (
    STREAM_EVALUATE,
    STREAM_FIT,
    STREAM_FIT_CALL,
    STREAM_LIBRARY_FUNCTION,
    STREAM_PREDICT,
)
from ..cause import Area, Cause, Detector
from ..facts import Facts, StreamFacts
from ..finding import Finding
from ..make import finding, ms
from ..names import CALLBACK_HEAVY, MODEL_RECREATED, PREDICT_LOOP
from ..rewriting.statement import Change, Statement

#: Seconds per call. predict and fit have a fixed overhead of 20 to 100 ms, ten times that on a busy machine; a call
#: that takes longer does real work.
LONG_CALL = 1.5
#: The share of the calls that has to be overhead: with more than a third in the model, they do real work.
MOSTLY_OVERHEAD = 0.67
#: Calls before they are a habit: a short run evaluates after each of a few epochs.
LEAST_CALLS = 10
#: Calls per step, or per iteration of any loop: an evaluation now and then is as it should be.
CALLS_PER_STEP = 0.3
#: Batches per call of fit up to which it is called with next to nothing.
FEW_BATCHES = 4
#: The files in which Keras keeps the functions that run a batch.
_TRAINERS = ("trainer.py", "training.py")


#: Options of predict and fit that mean nothing for a single batch, or that a call for one batch has as well.
_WITHOUT_MEANING = {"verbose", "shuffle", "batch_size"}


def _call_for_one_batch(statement: Statement, found: Finding) -> Change | None:
    """Replace predict and fit by their counterparts for one batch, which return the same.

    Not evaluate: test_on_batch keeps adding to the metrics of earlier calls.
    """
    name = found.symbol.rpartition(".")[2]
    for call in statement.calls():
        if not isinstance(call.func, ast.Attribute) or call.func.attr != name or not call.args:
            continue
        options = {k.arg: k.value for k in call.keywords}
        once = options.pop("epochs", None)
        if once is not None and not (isinstance(once, ast.Constant) and once.value == 1):
            return None
        if any(option not in _WITHOUT_MEANING for option in options):
            return None
        model, given = statement.source(call.func.value), [statement.source(a) for a in call.args]
        if name == "predict" and len(given) == 1:
            return _replaced(statement, call, f"{model}.predict_on_batch({given[0]})")
        unused = isinstance(statement.node, ast.Expr) and statement.node.value is call
        if name == "fit" and len(given) == 2 and unused and found.evidence.get("batches") == 1:
            return _replaced(statement, call, f"{model}.train_on_batch({', '.join(given)})")
    return None


def _replaced(statement: Statement, call: ast.Call, new: str) -> Change:
    return Change(statement.edited(), statement.edited((call, new)))


CAUSE = Cause(
    id=PREDICT_LOOP,
    area=Area.STEP,
    headline="predict, evaluate or fit is called on small inputs in a loop",
    mechanism="predict, evaluate and fit create a dataset, an iterator and callbacks in each call, which takes tens of "
    "milliseconds whatever the size of the input.",
    advice="Use model.predict_on_batch(x), or predict everything in one call.",
    before="y = model.predict(x)",
    after="y = model.predict_on_batch(x)",
    scenario="predict_in_loop",
    explained_by=(MODEL_RECREATED, CALLBACK_HEAVY),
    change=_call_for_one_batch,
)
_FIT_ADVICE = "Use model.train_on_batch(x, y), or collect the samples and call fit once."
_EVALUATE_ADVICE = "Evaluate everything in one call, or compute the loss with model.predict_on_batch(x)."


def detect(facts: Facts) -> Iterator[Finding | None]:
    calls = facts.streams_of(STREAM_PREDICT, STREAM_EVALUATE, STREAM_FIT_CALL)
    inside = sum(c.seconds for c in facts.streams_of(STREAM_LIBRARY_FUNCTION) if c.file.endswith(_TRAINERS))
    overhead = 1 - min(1.0, inside / max(sum(c.seconds for c in calls), 1e-9))
    if overhead < MOSTLY_OVERHEAD:
        return
    for call in calls:
        if not _is_small_and_frequent(facts, call):
            continue
        name = "fit" if call.kind == STREAM_FIT_CALL else call.kind
        yield finding(
            facts,
            CAUSE,
            call.site,
            f"model.{name} is called {call.calls} times on a small input, {ms(call.median)} each; "
            f"{100 * overhead:.0f} % of that is overhead around the model: a new dataset and iterator for each call.",
            call.seconds * overhead,
            symbol=f"model.{name}",
            calls=call.calls,
            median_ms=1e3 * call.median,
            batches=round(batches_of(facts, call) / call.calls),
            advice={"fit": _FIT_ADVICE, "evaluate": _EVALUATE_ADVICE}.get(name, ""),
        )


def _is_small_and_frequent(facts: Facts, call: StreamFacts) -> bool:
    if call.calls < LEAST_CALLS or not call.file or call.median > LONG_CALL:
        return False
    if call.kind == STREAM_FIT_CALL and batches_of(facts, call) > FEW_BATCHES * call.calls:
        return False
    return call.calls >= CALLS_PER_STEP * min(facts.steps, facts.most_iterations())


def batches_of(facts: Facts, call: StreamFacts) -> int:
    """Return the batches of all calls of fit at a line."""
    return sum(f.calls for f in facts.streams_of(STREAM_FIT) if f.site == call.site)


DETECTOR = Detector(detect, (CAUSE,))
