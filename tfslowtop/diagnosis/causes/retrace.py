"""retrace-*: an argument of a tf.function changes in a way that makes it trace again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...agent.protocol.names import TALLY_MODEL, TALLY_OPTIMIZER
from ..cause import Area, Cause, Detector
from ..facts import Facts, FunctionFacts, RetraceReason, Site, TallyFacts, short
from ..finding import Finding
from ..make import finding
from ..names import (
    DATASET_RECREATED,
    MODEL_RECREATED,
    PREDICT_LOOP,
    RETRACE_DTYPE,
    RETRACE_OBJECT,
    RETRACE_PYTHON_VALUE,
    RETRACE_SHAPE,
    RETRACE_STRUCTURE,
)
from ..readings.traces import changing_argument, package, retrace_cost
from ..rewriting.hoist import convert_argument
from ..rewriting.statement import Change, Statement, called_name, indented, last_name

#: Keras traces its own functions for new models, new datasets and each predict.
EXPLAINED_BY = (MODEL_RECREATED, DATASET_RECREATED, PREDICT_LOOP)
#: The share of the new objects that a line has to create to be the one that makes them.
MOST_OBJECTS = 0.5
#: Further arguments that are named when several change.
MOST_NAMED = 3
#: A number with more digits than anybody reads.
_LONG_NUMBER = re.compile(r"\b\d+\.\d{5,}(?:e[+-]?\d+)?")
#: Dtypes that a number can be cast to without a change of what it means.
_NUMBER = re.compile(r"(?:u?int|b?float|complex)\d+")


def _constant(source: str, found: Finding) -> str:
    dtypes: Any = found.evidence.get("dtypes")
    return f"tf.constant({source}, tf.{dtypes[0]})" if dtypes else f"tf.constant({source})"


def _cast(source: str, found: Finding) -> str:
    dtypes: Any = found.evidence.get("dtypes", ())
    numbers = (dtype for dtype in dtypes if _NUMBER.fullmatch(dtype))
    return f"tf.cast({source}, tf.{next(numbers, 'float32')})"


def _reduce_retracing(statement: Statement, found: Finding) -> Change | None:
    """Add reduce_retracing=True to the decorator of the function, if that is in the same file."""
    function = statement.definition(found.symbol)
    if function is None or found.evidence.get("function_file") != found.file:
        return None
    for decorator in function.decorator_list:
        text = statement.source(decorator)
        if "function" in text:
            has_options = text.endswith(")") and not text.endswith("()")
            start = f"{text[:-1]}, " if has_options else f"{text.rstrip('()')}("
            before = statement.decorated(function)
            return Change(before, before.replace(f"@{text}", f"@{start}reduce_retracing=True)", 1))
    return None


def _hoist_object(statement: Statement, found: Finding) -> Change | None:
    """Move the creation of the object that is passed out of the loop."""
    loop, wanted = statement.loop, str(found.evidence.get("argument", ""))
    if loop is None:
        return None
    given = {
        last_name(a) for call in statement.calls() if called_name(call) == found.symbol for a in call.args
    }
    for made in ast.walk(loop):
        if not isinstance(made, ast.Assign) or not isinstance(made.value, ast.Call):
            continue
        name = last_name(made.targets[0])
        if name in given and (name == wanted or len(given) == 1 or wanted.startswith(name)):
            text, header, use = statement.text(made), statement.header(loop), indented(statement.edited())
            return Change(f"{header}\n{indented(text)}\n{use}", f"{text}\n{header}\n{use}")
    return None


PYTHON_VALUE = Cause(
    id=RETRACE_PYTHON_VALUE,
    area=Area.TRACING,
    headline="A Python value that changes makes a tf.function retrace",
    mechanism="A tf.function keeps one graph per combination of Python values that it is called with. A number, string "
    "or flag that it has not seen before makes it trace a new graph; a tensor of the same shape and dtype does not.",
    advice="Pass {name} as a tensor, with tf.constant, or keep it in a tf.Variable.",
    before="step(x, {name})",
    after="step(x, tf.constant({name}, tf.float32))",
    curve="retraces",
    scenario="retrace_python_number",
    explained_by=EXPLAINED_BY,
    change=convert_argument(_constant),
)
SHAPE = Cause(
    id=RETRACE_SHAPE,
    area=Area.TRACING,
    headline="Tensors of new shapes make a tf.function retrace",
    mechanism="A tf.function keeps one graph per combination of tensor shapes. Every new shape makes it trace again, "
    "unless its signature leaves that dimension open.",
    advice="Give {function} an input_signature with None in the dimension that changes, or reduce_retracing=True.",
    before="@tf.function",
    after="@tf.function(reduce_retracing=True)",
    curve="retraces",
    scenario="new_shapes",
    explained_by=EXPLAINED_BY,
    change=_reduce_retracing,
)
DTYPE = Cause(
    id=RETRACE_DTYPE,
    area=Area.TRACING,
    headline="Tensors of changing dtypes make a tf.function retrace",
    mechanism="A tf.function keeps one graph per combination of tensor dtypes, and traces again for a new one.",
    advice="Convert {name} to one dtype before the call.",
    before="step({name})",
    after="step(tf.cast({name}, tf.float32))",
    curve="retraces",
    scenario="new_shapes",
    explained_by=EXPLAINED_BY,
    change=convert_argument(_cast),
)
STRUCTURE = Cause(
    id=RETRACE_STRUCTURE,
    area=Area.TRACING,
    headline="A list or dict of changing length or keys makes a tf.function retrace",
    mechanism="A tf.function keeps one graph per structure of its arguments, because it unrolls the graph over the "
    "elements of a list or dict. Another length or other keys make it trace again.",
    advice="Pass {name} as one stacked tensor, or as a container that keeps its length and keys.",
    before="step(list_of_tensors)",
    after="step(tf.stack(list_of_tensors))",
    curve="retraces",
    scenario="list_arguments",
    explained_by=EXPLAINED_BY,
    change=convert_argument(lambda source, _: f"tf.stack({source})"),
)
OBJECT = Cause(
    id=RETRACE_OBJECT,
    area=Area.TRACING,
    headline="A new Python object in each call makes a tf.function retrace",
    mechanism="A tf.function recognises a Python object by its identity. A new object makes it trace again, even if it "
    "equals the previous one.",
    advice="Create {name} once, before the loop, or pass what it contains as tensors.",
    before="for x in data:\n    step(Config(), x)",
    after="config = Config()\nfor x in data:\n    step(config, x)",
    curve="retraces",
    scenario="list_arguments",
    explained_by=EXPLAINED_BY,
    change=_hoist_object,
)
_CAUSES = {cause.id: cause for cause in (PYTHON_VALUE, SHAPE, DTYPE, STRUCTURE, OBJECT)}


@dataclass(frozen=True, slots=True)
class Retracing:
    """A function, and the argument that makes it retrace."""

    function: FunctionFacts
    reason: RetraceReason

    @property
    def compiles(self) -> bool:
        """Whether XLA compiles again, which is another cause."""
        return self.function.jit and self.reason.cause == RETRACE_SHAPE


def retracing(facts: Facts) -> Iterator[Retracing]:
    """Iterate over the functions that an argument makes retrace."""
    for function in facts.functions:
        reason = changing_argument(facts, function)
        if reason is not None:
            yield Retracing(function, reason)


def detect(facts: Facts) -> Iterator[Finding | None]:
    for each in retracing(facts):
        if not each.compiles:
            yield report(facts, _CAUSES[each.reason.cause], each)


def report(facts: Facts, cause: Cause, each: Retracing) -> Finding | None:
    """Build the finding for an argument that makes a function retrace."""
    f, reason = each.function, each.reason
    site = _site(facts, each)
    if not site[0]:  # a library's own function, without a line that the user could change
        return None
    others = [r.argument for r in f.reasons if r.cause == reason.cause and r is not reason and r.argument]
    also = f" (also {', '.join(others[:MOST_NAMED])})" if others else ""
    where = f" of {package(f)}" if f.library else f" ({short(f.file)}:{f.line})"
    name = reason.argument or "an argument"
    cost, is_bound = retrace_cost(facts, f)
    return finding(
        facts,
        cause,
        site,
        f"{f.function}{where} was traced {f.count} times in {f.calls} calls, {cost:.1f} s: "
        f"{name}{also} {_change(reason)}.",
        cost,
        at_most=is_bound,
        symbol=f.function,
        since=f.since,
        words={"function": f.function, **({"name": reason.argument} if reason.argument else {})},
        argument=name,
        traces=f.count,
        calls=f.calls,
        different_values=reason.values,
        example=[reason.before, reason.after],
        dtypes=[dtype for dtype in reason.dtypes if dtype],
        function_file=f.file,
        function_library=f.library,
        function_line=f.line,
    )


def _site(facts: Facts, each: Retracing) -> Site:
    """Return the line that creates the object again, where that is the reason and is known, or the call."""
    made = _creation(facts, each.reason) if each.reason.cause == RETRACE_OBJECT else None
    return made.site if made is not None else each.function.call_site


def _creation(facts: Facts, reason: RetraceReason) -> TallyFacts | None:
    made = [
        c for c in facts.tallies_of(TALLY_OPTIMIZER, TALLY_MODEL) if c.symbol == reason.after_class and c.file
    ]
    return next((c for c in made if c.count >= MOST_OBJECTS * reason.count), None)


def _change(reason: RetraceReason) -> str:
    """Say how an argument changed, with an example."""
    example = _LONG_NUMBER.sub(lambda m: f"{float(m[0]):.4g}", f"{reason.before}, then {reason.after}")
    if reason.cause == RETRACE_PYTHON_VALUE:
        return f"is a Python value with {reason.values} different values ({example})"
    if reason.cause == RETRACE_OBJECT:
        return f"was a new object {reason.count} times ({reason.after})"
    kind = {RETRACE_SHAPE: "shapes", RETRACE_DTYPE: "dtypes"}.get(reason.cause, "structures")
    return f"had {reason.values} different {kind} ({example})"


DETECTOR = Detector(detect, tuple(_CAUSES.values()))
