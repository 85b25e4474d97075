"""Functions that are traced again, created again, compiled again, or take long to trace once."""

from __future__ import annotations

import re

from ..facts import Facts, FunctionFacts, RetraceReason, TallyFacts, short
from ..finding import Finding
from ..make import LEAST_SHARE, finding, ms
from .recreated import MUCH_OF_A_ROUND, PER_STEP

#: Avoidable traces from which on it is a habit. Train and eval, the last smaller batch of each, and one
#: change of mind make four.
LEAST_TRACES = 5
#: A program with a bounded number of shapes or flags traces them early. A habit goes on: so many of the
#: avoidable traces must come in the second half of the calls.
LATE = 0.25
#: Or so many, and such a share of the time, that they are told although they have come to an end.
MANY_TRACES = 20
MUCH = 0.25
#: Objects with functions of their own, and the share of the time that tracing those takes: a search that trains a
#: model after the other has fewer, and more to do with each.
MANY_OBJECTS = 8
NEARLY_ALL = 0.5
#: New objects for a function are told one trace earlier if tracing for them takes so much of the time.
DEAR = 0.45
#: One trace that takes this long, and this share of the time, with so many ops made by the same line.
SLOW_TRACE = 2.0
UNROLLED = 100
#: A number with more digits than anybody reads.
_LONG = re.compile(r"\b\d+\.\d{5,}(?:e[+-]?\d+)?")


def retraced(facts: Facts) -> list[Finding]:
    """retrace-python-value, -shape, -dtype, -structure, -object; xla-recompile; function-recreated."""
    found: list[Finding | None] = []
    made_anew: dict[tuple[str, int], list[FunctionFacts]] = {}
    for f in facts.functions:
        often = f.instances >= LEAST_TRACES and f.instances >= 0.3 * f.calls
        instances = often or _mostly(facts, f)
        goes_on = f.avoidable >= _least(facts, f) and f.late >= LATE * f.avoidable
        much = f.avoidable >= MANY_TRACES and facts.share(f.avoidable_seconds) >= MUCH
        habit = (goes_on or much) and bool(f.blames)
        if not instances and not habit:
            continue
        if instances or _worst(f).cause == "function-recreated":
            if f.library:
                made_anew.setdefault((f.user_file, f.user_line), []).append(f)
            else:
                found.append(_instances(facts, f) if instances else _recreated(facts, f))
        else:
            found.append(_argument(facts, f, _worst(f)))
    found += [_of_a_library(facts, place, group) for place, group in made_anew.items() if place[0]]
    return [f for f in found if f is not None]


def _least(facts: Facts, f: FunctionFacts) -> int:
    """Traces that make a habit. Where each round has a new object, and its trace takes as long as the rest of the
    round, one less."""
    new = bool(f.blames) and _worst(f).cause in ("retrace-object", "function-recreated")
    return LEAST_TRACES - (new and facts.share(f.avoidable_seconds) >= DEAR)


def _mostly(facts: Facts, f: FunctionFacts) -> bool:
    """Objects that are used a few times each, and whose traces are nearly all that happens; or much of it, where
    each step has its own."""
    least = MUCH if f.instances >= PER_STEP * facts.steps else NEARLY_ALL
    return f.instances >= MANY_OBJECTS and facts.share(_anew(f)) >= least


def _anew(f: FunctionFacts) -> float:
    """Seconds of tracing for further objects of the same class."""
    return f.seconds * f.instances / max(1, f.count)


def _of_a_library(facts: Facts, place: tuple[str, int], group: list[FunctionFacts]) -> Finding | None:
    """Functions that a library makes for itself have no line that could be changed; the line that makes the
    library do so has one."""
    worst = max(group, key=lambda f: f.seconds)
    again = sum(max(f.instances, f.avoidable) for f in group)
    models = max((c.count for c in facts.tallies_of("model", "compile") if c.late > 0.2), default=facts.steps)
    if models < LEAST_TRACES:
        return None  # each of a few models has functions of its own
    cost = sum(f.seconds * max(f.instances, f.avoidable) / max(1, f.count) for f in group)
    return finding(
        facts,
        "function-recreated",
        place,
        f"What {_package(worst)} has at this line is new each time, so that {again} functions of its own were created "
        f"and traced again ({', '.join(sorted({f.function for f in group})[:3])}): {cost:.1f} s.",
        cost,
        at_most=True,
        symbol=_package(worst),
        since=worst.since,
        least=LEAST_SHARE if models >= PER_STEP * facts.steps else MUCH_OF_A_ROUND,
        remedy="Create the object that this line calls once, outside the loop, and call that one.",
        traces=sum(f.count for f in group),
        calls=worst.calls,
        function_file=worst.file,
        function_library=worst.library,
        function_line=worst.line,
    )


def _package(f: FunctionFacts) -> str:
    """Whose function it is, as people call it."""
    _, _, inside = f.file.rpartition("-packages/")
    return "Keras" if inside.startswith(("keras/", "tf_keras/")) else "TensorFlow"


def _worst(f: FunctionFacts) -> RetraceReason:
    """The argument that changes most often; of two that always change together, the Python value: a tensor
    whose shape follows from it is its consequence."""
    most = f.blames[0].count
    often = [b for b in f.blames if b.count >= 0.8 * most]
    order = (
        "function-recreated",
        "retrace-object",
        "retrace-structure",
        "retrace-python-value",
        "retrace-dtype",
    )
    return min(often, key=lambda b: order.index(b.cause) if b.cause in order else len(order))


def _recreated(facts: Facts, f: FunctionFacts) -> Finding | None:
    made = [
        c for c in facts.tallies_of("function") if c.symbol == f.function and c.count >= 0.5 * f.avoidable
    ]
    place = (
        (made[0].file, made[0].line)
        if made and made[0].file
        else (f.user_file or f.file, f.user_line or f.line)
    )
    return finding(
        facts,
        "function-recreated",
        place,
        f"{f.function} is created again for {f.avoidable} of {f.calls} calls, so each of them traces: "
        f"{f.avoidable_seconds:.1f} s.",
        f.avoidable_seconds,
        symbol=f.function,
        since=f.since,
        traces=f.count,
        calls=f.calls,
        function_file=f.file,
        function_library=f.library,
        function_line=f.line,
    )


def _instances(facts: Facts, f: FunctionFacts) -> Finding | None:
    """A method: each new object of its class has a function of its own."""
    cost = _anew(f)
    return finding(
        facts,
        "function-recreated",
        (f.user_file or f.file, f.user_line or f.line),
        f"{f.function} belongs to a new object at {f.instances} of {f.calls} calls, and each of these traces: "
        f"{cost:.1f} s.",
        cost,
        at_most=True,
        symbol=f.function,
        remedy="Create the object once, outside the loop.",
        traces=f.count,
        calls=f.calls,
        function_file=f.file,
        function_library=f.library,
        function_line=f.line,
    )


def _argument(facts: Facts, f: FunctionFacts, blame: RetraceReason) -> Finding | None:
    cause = "xla-recompile" if f.jit and blame.cause == "retrace-shape" else blame.cause
    place = (f.user_file, f.user_line) if f.user_file else (f.file, f.line)
    made = _made_at(facts, blame) if cause == "retrace-object" else None
    if made is not None:
        place = (made.file, made.line)
    name = blame.argument or "an argument"
    others = [b.argument for b in f.blames if b.cause == blame.cause and b is not blame and b.argument]
    also = f" (also {', '.join(others[:3])})" if others else ""
    where = f" of {_package(f)}" if f.library else f" ({short(f.file)}:{f.line})"
    cost = f.avoidable_seconds
    if f.jit:  # compiling comes after tracing, in the call itself
        own = [c for c in facts.streams_of("function") if (c.file, c.line) == (f.file, f.line)]
        cost = max([cost, *(c.seconds * f.avoidable / max(1, c.calls) for c in own)])
    return finding(
        facts,
        cause,
        place,
        f"{f.function}{where} was traced {f.count} times in {f.calls} calls, {f.seconds:.1f} s: "
        f"{name}{also} {_change(blame)}.",
        cost,
        at_most=f.jit,  # the calls that compiled also ran
        symbol=f.function,
        since=f.since,
        names={"name": name, "function": f.function},
        argument=name,
        traces=f.count,
        calls=f.calls,
        different_values=blame.values,
        example=[blame.before, blame.after],
        dtypes=[dtype for dtype in blame.dtypes if dtype],
        function_file=f.file,
        function_library=f.library,
        function_line=f.line,
    )


def _made_at(facts: Facts, blame: RetraceReason) -> TallyFacts | None:
    """The line that makes the object anew, where that is known: it is the one to change."""
    made = [c for c in facts.tallies_of("optimizer", "model") if c.symbol == blame.after_class and c.file]
    return next((c for c in made if c.count >= 0.5 * blame.count), None)


def _change(blame: RetraceReason) -> str:
    example = _LONG.sub(lambda m: f"{float(m[0]):.4g}", f"{blame.before}, then {blame.after}")
    if blame.cause == "retrace-python-value":
        return f"is a Python value with {blame.values} different values ({example})"
    if blame.cause == "retrace-shape":
        return f"came in {blame.values} shapes ({example})"
    if blame.cause == "retrace-dtype":
        return f"came in {blame.values} dtypes ({example})"
    if blame.cause == "retrace-structure":
        return f"came in {blame.values} structures ({example})"
    return f"was a new object {blame.count} times ({blame.after})"


def trace_slow(facts: Facts) -> list[Finding]:
    """One long trace, in which one line of the user's own code added ops hundreds of times."""
    found = []
    for count in facts.tallies_of("trace-ops"):
        name = count.symbol
        if count.count < UNROLLED or count.seconds < SLOW_TRACE:
            continue
        made = finding(
            facts,
            "trace-slow",
            (count.file, count.line),
            f"Tracing {name} took {count.seconds:.1f} s: the Python loop at this line added about {count.size:,} ops to "
            "the graph, turn by turn.",
            count.seconds,
            at_most=True,
            symbol=name,
            least=0.2,
            ops=count.size,
        )
        found += [made] if made else []
    return found[:1]


def compiled(facts: Facts) -> list[Finding]:
    """A signature that leaves a dimension open saves the traces; XLA still compiles for each shape."""
    found = []
    for c in facts.tallies_of("xla-shape"):
        goes_on = c.count >= LEAST_TRACES and c.late >= LATE
        if not goes_on and c.count < MANY_TRACES:
            continue
        own = [f for f in facts.streams_of("function", "step") if f.name == c.symbol]
        calls = max([c.count, *(f.calls for f in own)])
        others = calls - c.count  # a call that has just ended may be in one of the two numbers only
        known = max(0.0, sum(f.seconds for f in own) - c.seconds) / others if others >= LEAST_TRACES else 0.0
        usual = f", {ms(known)} at one that it knows" if known else ""
        made = finding(
            facts,
            "xla-recompile",
            (c.file, c.line),
            f"{c.symbol} met {c.count} shapes in {calls} calls, and XLA compiled it for each of them: a call takes "
            f"{ms(c.seconds / c.count)} at a new shape{usual}.",
            max(0.0, c.seconds - c.count * known),
            at_most=True,  # the calls that compiled also ran
            symbol=c.symbol,
            since=c.since,
            shapes=c.count,
            calls=calls,
        )
        found += [made] if made else []
    return found


RULES = (retraced, compiled, trace_slow)
