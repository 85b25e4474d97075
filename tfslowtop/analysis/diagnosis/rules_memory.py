"""What stays alive, and what the collector does about it."""

from __future__ import annotations

from .facts import Facts
from .finding import Finding
from .make import finding, per_step, size

#: Growth in all, and per step, that a cache or an allocator's arena does not explain.
LEAK = 24e6
LEAK_PER_STEP = 2_000.0
#: The collector takes one to three percent of an ordinary program.
PAUSES = 0.10
LEAST_PAUSES = 5


def leaks(facts: Facts) -> list[Finding]:
    """Memory that rises with the steps. What holds it was looked up in the program."""
    rss = facts.gauges.get("rss")
    step = facts.step
    if rss is None or step is None or facts.steps < 30:
        return []
    trend = rss.trend
    rising = trend is not None and trend.direction == "rising" and trend.low > LEAK_PER_STEP
    tensors, nbytes = facts.gauges.get("live tensors"), facts.gauges.get("live tensor bytes")
    counted = tensors is not None and tensors.change >= 0.2 * facts.steps and tensors.change >= 30
    objects = facts.gauges.get("live objects")
    per = trend.slope if trend is not None and rising else rss.change / facts.steps
    kept_bytes = nbytes.last * tensors.change / tensors.last if counted and nbytes and tensors else 0.0
    if not rising and kept_bytes < LEAK:
        return []
    per = max(per, kept_bytes / facts.steps)
    if per * facts.steps < LEAK:
        return []
    kept = [c for c in facts.counted("kept-tensor" if counted else "kept-object") if c.file]
    place = (kept[-1].file, kept[-1].line) if kept else (step.file, step.line)
    name = kept[-1].symbol.partition("|")[0] if kept else ""
    cause = "tensor-leak" if counted else "python-leak"
    if counted and tensors is not None and nbytes is not None:
        what = f"{tensors.last:,.0f} tensors were alive at the last count, {size(nbytes.last)}"
    else:
        grown = objects.change if objects else 0.0
        what = (
            f"{per_step(grown, facts.steps)} more Python objects per step"
            if grown > facts.steps
            else "no tensors are kept"
        )
    holder = f"; {name} keeps them" if name else ""
    made = finding(
        facts,
        cause,
        place,
        f"Memory grows by {size(per)} per step, {size(per * facts.steps)} so far: {what}{holder}.",
        max(facts.seconds * 0.06, 0.3),
        symbol=name,
        confidence="high" if kept else "medium",
        bytes_per_step=per,
        rss=rss.last,
        tensors=tensors.last if tensors else None,
    )
    return [made] if made else []


def collector(facts: Facts) -> list[Finding]:
    pauses, runs = facts.gauges.get("gc pause seconds"), facts.gauges.get("gc collections")
    streams = facts.of("gc")
    if pauses is None or not streams or facts.steps < 5 or streams[0].calls < LEAST_PAUSES:
        return []
    seconds, longest = streams[0].seconds, streams[0].seconds / max(1, streams[0].calls)
    lines: dict[tuple[str, int], float] = {}
    for c in facts.counted("where"):
        if c.file and c.symbol in ("user|", "user|collect", "gc|"):
            lines[c.file, c.line] = lines.get((c.file, c.line), 0.0) + c.seconds * c.late
    asked = streams[0].calls >= 0.8 * facts.steps and bool(lines)
    place = (
        max(lines, key=lambda p: lines[p])
        if lines
        else (facts.step.file, facts.step.line)
        if facts.step
        else ("", 0)
    )
    remedy = (
        ""
        if asked
        else "Call gc.freeze() after building the program, or raise gc.set_threshold(50_000, 20, 20)."
    )
    made = finding(
        facts,
        "gc-pause",
        place,
        f"The garbage collector takes {seconds:.1f} s, {100 * facts.share(seconds):.0f} % of the time, in "
        f"{streams[0].calls:,} pauses of {1e3 * longest:.0f} ms.",
        seconds,
        symbol="gc",
        least=PAUSES,
        remedy=remedy,
        collections=runs.last if runs else None,
    )
    return [made] if made else []


RULES = (leaks, collector)
