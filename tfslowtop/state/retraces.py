"""Traces by function: how many, what they cost, and which argument is to blame."""

from __future__ import annotations

import bisect
from collections import Counter
from dataclasses import dataclass, field, replace

from ..agent.protocol.events import Reason, Trace
from ..agent.protocol.names import (
    REASON_DTYPE,
    REASON_FIRST,
    REASON_NEW_CONTEXT,
    REASON_NEW_INSTANCE,
    REASON_OBJECT,
    REASON_PYTHON_VALUE,
    REASON_RECREATED,
    REASON_SECOND,
    REASON_SHAPE,
    REASON_STRUCTURE,
    TraceReason,
)

#: Reasons that are nobody's fault.
INNOCENT = frozenset({REASON_FIRST, REASON_SECOND, REASON_NEW_CONTEXT, REASON_NEW_INSTANCE})
#: Different values that are remembered per argument, and of all arguments together.
_MOST_VALUES = 1000
_MOST_VALUES_IN_ALL = 50_000
#: Avoidable traces per function whose times are remembered.
_MOST_NEWEST = 2000
#: Functions, and arguments and callers of each, beyond which new ones are counted together.
MOST_FUNCTIONS = 1000
_MOST_PER_FUNCTION = 64
_OTHERS = ("other functions", "", 0)

_ADVICE: dict[TraceReason, str] = {
    REASON_PYTHON_VALUE: "Pass tf.constant({name}) or a tf.Variable.",
    REASON_SHAPE: "Give it an input_signature with None in that dimension, or reduce_retracing=True.",
    REASON_DTYPE: "Convert it to one dtype before the call.",
    REASON_STRUCTURE: "Pass one tensor, or a container that keeps its length and keys.",
    REASON_OBJECT: "Pass the same object each time, or tensors instead of it.",
    REASON_RECREATED: "Create the tf.function once, outside the loop.",
}


def is_avoidable(trace: Trace) -> bool:
    """Return whether a code change would avoid the trace: somebody is to blame, and it is not part of another
    trace."""
    return not trace.nested and any(r.cause not in INNOCENT for r in trace.reasons)


@dataclass(slots=True)
class Blame:
    """One argument and one reason: how often, and with which values."""

    argument: str
    cause: TraceReason
    example: Reason
    """The newest one."""
    count: int = 0
    values: set[str] = field(default_factory=set)

    def add(self, reason: Reason, room: bool) -> int:
        """Count a reason; return how many values are new. Without `room`, none is remembered."""
        self.count += 1
        self.example = reason
        known = len(self.values)
        if room and known < _MOST_VALUES:
            self.values |= {reason.before, reason.after}
        return len(self.values) - known


@dataclass(slots=True)
class FunctionTraces:
    """All traces of one function."""

    function: str
    file: str
    line: int
    count: int = 0
    nanoseconds: int = 0
    blames: dict[tuple[str, TraceReason], Blame] = field(default_factory=dict)
    callers: Counter[tuple[str, int]] = field(default_factory=Counter)
    nested: int = 0
    """Traces inside another function's trace, which causes them."""
    jit: bool = False
    library: bool = False
    """Whether the function belongs to a library and not to the user."""
    avoidable: int = 0
    """Traces a code change would avoid: their reason is somebody's fault, and they are not part of another
    trace."""
    avoidable_nanoseconds: int = 0
    newest_avoidable: list[tuple[int, int]] = field(default_factory=list)
    """When the newest of them began, and how long each took."""
    longest: int = 0
    called_with: str = ""
    """The arguments of the first trace, for people."""
    batch_sizes: tuple[int, ...] = ()
    """The first dimensions of the tensors among them."""

    @property
    def seconds(self) -> float:
        return self.nanoseconds / 1e9

    @property
    def avoidable_seconds(self) -> float:
        return self.avoidable_nanoseconds / 1e9

    @property
    def worst(self) -> Blame | None:
        guilty = [b for b in self.blames.values() if b.cause not in INNOCENT]
        return max(guilty, key=lambda b: b.count, default=None)

    def add(self, trace: Trace, room: bool = True) -> int:
        """Add a trace; return how many values of arguments are new."""
        self.count += 1
        self.nanoseconds += 0 if trace.nested else trace.wall
        self.nested += trace.nested
        self.jit |= trace.jit
        self.library = trace.library
        self.longest = max(self.longest, 0 if trace.nested else trace.wall)
        if is_avoidable(trace):
            self.avoidable += 1
            self.avoidable_nanoseconds += trace.wall
            # Threads overlap, and traces arrive in the order of their ends.
            bisect.insort(self.newest_avoidable, (trace.at, trace.wall))
            del self.newest_avoidable[:-_MOST_NEWEST]
        if trace.reasons and trace.reasons[0].cause == REASON_FIRST:
            self.called_with, self.batch_sizes = trace.reasons[0].after, trace.reasons[0].batch_sizes
        caller = (trace.user_file, trace.user_line)
        if trace.user_file and (caller in self.callers or len(self.callers) < _MOST_PER_FUNCTION):
            self.callers[caller] += 1
        return sum(self._blame(reason, room) for reason in trace.reasons)

    def _blame(self, reason: Reason, room: bool) -> int:
        key = (reason.argument, reason.cause)
        blame = self.blames.get(key)
        if blame is None:
            if len(self.blames) >= _MOST_PER_FUNCTION:
                return 0
            blame = self.blames[key] = Blame(*key, reason)
        return blame.add(reason, room)


class Retraces:
    def __init__(self) -> None:
        self.functions: dict[tuple[str, str, int], FunctionTraces] = {}
        self._values = 0

    @property
    def full(self) -> bool:
        """Whether some functions are counted together."""
        return _OTHERS in self.functions

    def add(self, trace: Trace) -> None:
        key = (trace.function, trace.file, trace.line)
        function = self.functions.get(key)
        if function is None:
            if len(self.functions) >= MOST_FUNCTIONS:
                # Nobody is to blame for what many functions did.
                key, trace = _OTHERS, replace(trace, reasons=())
            function = self.functions.setdefault(key, FunctionTraces(*key))
        self._values += function.add(trace, self._values < _MOST_VALUES_IN_ALL)

    def counts(self) -> dict[tuple[str, int], int]:
        """Return the number of traces by file and line, for the table of streams."""
        totals: Counter[tuple[str, int]] = Counter()
        for f in self.functions.values():
            totals[f.file, f.line] += f.count
        return dict(totals)

    def sentences(self, calls: dict[tuple[str, int], int], worked: float, most: int = 3) -> tuple[str, ...]:
        """Describe the user's functions whose retraces a code change would avoid, most expensive first.

        A library's own function is left out: the user cannot follow advice about it.
        """
        guilty = [f for f in self.functions.values() if f.avoidable > 1 and not f.library]
        guilty.sort(key=lambda f: -f.nanoseconds)
        return tuple(sentence(f, calls.get((f.file, f.line), 0), worked) for f in guilty[:most])


def sentence(f: FunctionTraces, calls: int, worked: float) -> str:
    """`train_step (train.py:42) traced 37 times in 40 calls, 7.8 s (94 % of the time). lr: …`."""
    place = f"{f.function} ({_short(f.file)}:{f.line})" if f.file else f.function
    within = f" in {max(calls, f.count)} calls" if calls else ""
    share = f" ({min(100.0, 100 * f.seconds / worked):.0f} % of the time)" if worked > 0 else ""
    text = f"{place} traced {f.count} times{within}, {f.seconds:.1f} s{share}."
    blame = f.worst
    return f"{text} {explain(blame)}" if blame else text


def explain(blame: Blame) -> str:
    """Say which argument changes, how, and what to do."""
    name = blame.argument or "an argument"
    before, after = blame.example.before, blame.example.after
    advice = _ADVICE.get(blame.cause, "").format(name=name)
    if blame.cause == REASON_RECREATED:
        return f"It is re-created every time, so every call traces again. {advice}"
    change = f"({before}, then {after})"
    if blame.cause == REASON_PYTHON_VALUE:
        kind = blame.example.before_class
        if kind and kind == blame.example.after_class:
            first, second = (text.removeprefix(f"{kind} ") for text in (before, after))
            change = f"({first}, then {second})"
        else:
            kind = "value"
        what = f"Python {kind}, {len(blame.values)} different values {change}"
    elif blame.cause == REASON_SHAPE:
        what = f"{len(blame.values)} different shapes {change}"
    elif blame.cause == REASON_OBJECT:
        what = f"a new Python object in {blame.count} calls ({after})"
    else:
        word = {REASON_DTYPE: "dtype", REASON_STRUCTURE: "structure"}.get(blame.cause, blame.cause)
        what = f"its {word} changes {change}"
    return f"{name}: {what}. {advice}".rstrip()


def _short(file: str) -> str:
    return file.rsplit("/", 1)[-1]
