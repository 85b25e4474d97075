"""Runs every rule and ranks the findings by cost, with symptoms under what explains them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .busy import looks, seen
from .causes import data as rules_data
from .causes import eager as rules_step
from .causes import graphs as rules_graphs
from .causes import host as rules_host
from .causes import machine as rules_machine
from .causes import memory as rules_memory
from .causes import numpy_programs as rules_numpy
from .causes import per_sample as rules_items
from .causes import recreated as rules_created
from .causes import retraces as rules_traces
from .facts import Facts, short
from .finding import Finding
from .make import ms

Rule = Callable[[Facts], list[Finding]]

RULES: tuple[Rule, ...] = (
    *rules_traces.RULES, *rules_graphs.RULES, *rules_created.RULES, *rules_step.RULES, *rules_data.RULES,
    *rules_host.RULES, *rules_items.RULES, *rules_memory.RULES, *rules_numpy.RULES,
    *rules_machine.RULES,
)  # fmt: skip

_RETRACES = (
    "retrace-python-value", "retrace-shape", "retrace-dtype", "retrace-structure", "retrace-object",
    "xla-recompile", "function-recreated",
)  # fmt: skip
_CREATED = ("model-recreated", "optimizer-recreated", "dataset-recreated", "function-recreated")
_GRAPHS = ("graph-growth", "session-per-step", "session-leak")
_LEAKS = ("tensor-leak", "python-leak", "kernel-leak")
#: A symptom, and what explains it, the best explanation first.
EXPLAINED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_RETRACES, ("model-recreated", "dataset-recreated", "predict-loop")),
    "trace-slow": _RETRACES,
    "optimizer-recreated": ("model-recreated",),
    "variable-recreated": ("model-recreated", "optimizer-recreated", "function-recreated"),
    "dataset-recreated": ("model-recreated", "predict-loop"),
    "predict-loop": ("model-recreated", "callback-heavy"),
    **dict.fromkeys(
        _LEAKS, (*_GRAPHS, *_CREATED, *_RETRACES, "variable-recreated", "growing-input", "predict-loop")
    ),
    "kernel-leak": (*_GRAPHS, *_CREATED, *_RETRACES, "variable-recreated", "predict-loop"),
    "growing-input": (*_GRAPHS, *_RETRACES, *_CREATED, "kernel-leak"),
    "gc-pause": (*_LEAKS, *_CREATED, "predict-loop"),
    "eager-step": (
        *_CREATED, "variable-recreated", "growing-input", "per-sample", "predict-loop", "python-op",
        *_RETRACES, "callback-heavy", "host-copy", "input-bound", "trace-slow", *_GRAPHS,
    ),
    "host-sync": ("input-bound", "python-op", "per-sample", "eager-step", "predict-loop", "callback-heavy"),
    "host-copy": ("predict-loop", "growing-input"),
    "input-bound": (*_GRAPHS, *_CREATED, *_RETRACES, "predict-loop", "growing-input", "callback-heavy"),
    "callback-heavy": ("growing-input",),
    "per-sample": ("predict-loop", *_RETRACES, *_CREATED, "python-op"),
}  # fmt: skip
#: An explanation has to weigh something against its symptom.
_WEIGHS = 0.25
#: The part of the time inside TensorFlow below which it is worth a word where the rest is; and a line's part of it.
_LITTLE = 0.5
_WORTH = 0.2
#: What the machine does: no line of the program's is to blame.
MACHINE = (
    "cpu-contention",
    "cpu-throttled",
    "memory-pressure",
    "gpu-throttled",
    "gpu-contention",
    "gpu-memory-full",
)


def diagnose(facts: Facts) -> tuple[Finding, ...]:
    """What is wrong, most expensive first; the machine's part after the program's own."""
    found = [f for rule in RULES for f in rule(facts)]
    found = [f for f in found if f.file or f.cause not in _RETRACES]  # a library's, with no line to change
    return arrange(found, facts.seconds)


def arrange(found: list[Finding], seconds: float) -> tuple[Finding, ...]:
    """Most expensive first, each with the findings that it explains; `seconds` is how long the program ran."""
    explained: dict[int, Finding] = {}
    # The cheapest first: where causes explain each other in a ring, the most expensive finds it closed.
    for f in sorted(found, key=lambda f: _weighs(f, seconds)):
        cause = next((c for c in _explanations(f, found) if not _goes_back(c, f, explained)), None)
        if cause is not None:
            explained[id(f)] = cause
    under: dict[int, list[Finding]] = {}
    for f in found:
        if id(f) in explained:
            under.setdefault(id(explained[id(f)]), []).append(f)
    roots = [f for f in found if id(f) not in explained]
    roots.sort(key=lambda f: (f.cause in MACHINE, -_weighs(f, seconds)))
    return tuple(f.with_symptoms(tuple(_all_under(f, under))) for f in roots)


def _goes_back(cause: Finding, symptom: Finding, explained: dict[int, Finding]) -> bool:
    """Whether a cause is itself explained, in the end, by what it would explain."""
    at: Finding | None = cause
    while at is not None and at is not symptom:
        at = explained.get(id(at))
    return at is symptom


def _weighs(f: Finding, seconds: float) -> float:
    """What is paid in memory weighs as much as the same share of the time."""
    share = f.evidence.get("memory_share")
    return seconds * share if f.basis == "not measured" and isinstance(share, float) else f.rank


def _all_under(f: Finding, under: dict[int, list[Finding]]) -> list[Finding]:
    result = []
    for symptom in under.get(id(f), ()):
        result += [symptom, *_all_under(symptom, under)]
    return sorted(result, key=lambda s: -s.rank)


def _explanations(f: Finding, found: list[Finding]) -> Iterator[Finding]:
    """What may explain a finding, the best explanation first."""
    for cause in EXPLAINED.get(f.cause, ()):
        for other in found:
            if other is f or other.cause != cause:
                continue
            own = f.cause in _RETRACES and not f.evidence.get("function_library")
            if (
                own
                and cause in ("predict-loop", "dataset-recreated", "model-recreated")
                and f.key[1:] != other.key[1:]
            ):
                continue  # a function of the user's own has its own reason
            if "not measured" in (f.basis, other.basis) or other.rank >= _WEIGHS * f.rank:
                yield other


def healthy(facts: Facts) -> str:
    """What is said when nothing is wrong."""
    step = facts.step
    if step is None or facts.steps < 3:
        if facts.alone:
            return rules_numpy.healthy(facts)
        return "No step was seen: nothing that TensorFlow does repeated often enough."
    trend = step.trend.direction if step.trend else "unclear"
    pace = {"flat": "is steady at", "falling": "gets faster and takes"}.get(trend, "takes")
    where = list(looks(facts))
    total = sum(c.seconds for c, _ in where)
    inside = sum(c.seconds for c, b in where if b.package in ("tensorflow", "keras"))
    share = f", {100 * inside / total:.0f} % inside TensorFlow" if total > 1.0 else ""
    (file, line), most = next(iter(seen(facts, lambda b: b.python).items()), (("", 0), 0.0))
    if share and inside < _LITTLE * total and most >= _WORTH * total:
        share += f" and {100 * most / total:.0f} % at {short(file)}:{line}"
    found = "slow found until then" if facts.failed else "wrong found"
    return f"Nothing {found}: the step {pace} {ms(step.median)}{share}."
