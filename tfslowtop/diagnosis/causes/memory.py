"""What stays alive, and what the collector does about it."""

from __future__ import annotations

from ..facts import Facts, GaugeFacts, TallyFacts
from ..finding import Finding
from ..make import finding, size

#: Growth in all, and per step, that a cache or an allocator's arena does not explain.
LEAK = 24e6
LEAK_PER_STEP = 2_000.0
#: The share of the growth that a container has to account for, its entries weighed roughly; entries of a cache,
#: whose weight is not known.
EXPLAINS = 0.2
LEAST_KEPT = 30
#: Steps from which on growth that nothing explains is a leak.
MANY = 200
#: Bytes that a kernel is at least; 36 kB were measured on TensorFlow 2.21 (scenarios/seeded_random.py).
KERNEL = 20_000
#: They come so slowly that a program which soon ends does not care: a share of all its memory.
SLOW_LEAK = 0.1
#: What an allocator keeps for itself (a new iterator in each epoch, say) is less than this share of the memory.
NAMELESS = 0.15
#: The collector takes one to three percent of an ordinary program, a tenth of one that builds several models.
PAUSES = 0.15
LEAST_PAUSES = 10
#: The share of the pauses at one line that says that this line asks for them.
ASKED = 0.6
UNNAMED = (
    "Call tracemalloc.start() before the loop and compare two tracemalloc.take_snapshot(), a hundred steps apart: "
    "they name the line that allocates what stays."
)


def _per_step(rss: GaugeFacts) -> float:
    """Bytes per step, so far as it is sure that it rises."""
    trend = rss.trend
    rises = trend is not None and trend.direction == "rising" and trend.low > LEAK_PER_STEP
    return trend.slope if trend is not None and rises else 0.0


def grew(facts: Facts) -> float:
    """Bytes that memory has grown by with the steps."""
    rss = facts.gauges.get("rss")
    return max(rss.rise, _per_step(rss) * facts.steps) if rss is not None else 0.0


def leaks(facts: Facts) -> list[Finding]:
    """Memory that rises with the steps. What keeps it was looked up in the program, by its own names."""
    rss = facts.gauges.get("rss")
    step = facts.step
    if rss is None or step is None or facts.steps < 30:
        return []
    kept = sorted(
        (c for c in facts.tallies_of("kept-tensor", "kept-object") if c.late > 0.2), key=lambda c: -c.size
    )
    holder = kept[0] if kept else None
    per = _per_step(rss)
    held = holder.size / facts.steps if holder else 0.0
    if max(per, held) * facts.steps < LEAK:
        return []
    # A list of numbers grows in many a healthy program: what keeps the memory holds a good part of it.
    if holder is not None and held < EXPLAINS * per:
        holder = next((c for c in kept if not c.size and c.count >= LEAST_KEPT), None)
    if holder is not None and holder.bounded:
        return []  # it has a bound: memory grows until it is full
    name, kind = (holder.symbol, holder.container) if holder else ("", "")
    tensors = holder is not None and holder.what == "kept-tensor"
    draw = _draw(facts, per) if holder is None else None
    if draw is not None:
        return _kernels(facts, draw, per)
    if holder is None and (rss.rise < LEAK or facts.steps < MANY or _share(facts, per) < NAMELESS):
        return []  # it goes up and down, or fills up at first: an allocator that takes and gives back
    what = "no list, dict or set that the program has a name for grows with it"
    if holder is not None:
        things = "entries with tensors" if tensors else "entries"
        what = f"{name}, a {kind}, has {holder.count:,} more {things} than at first"
    per = max(per, held)
    place = (holder.file, holder.line) if holder is not None and holder.file else (step.file, step.line)
    made = finding(
        facts,
        "tensor-leak" if tensors else "python-leak",
        place,
        f"Memory grows by {size(per)} per step, {size(per * facts.steps)} so far: {what}.",
        None,
        symbol=name,
        remedy="" if holder is not None else UNNAMED,
        confidence="high" if holder is not None and holder.file else "medium",
        names={"container": name or "what grows"},
        bytes_per_step=per,
        memory_share=_share(facts, per),
        rss=rss.last,
        kept=holder.count if holder else None,
        entry_bytes=holder.size / holder.count if holder and holder.count else None,
    )
    return [made] if made else []


def _draw(facts: Facts, per: float) -> TallyFacts | None:
    """The line whose random numbers explain the growth."""
    draws = [c for c in facts.tallies_of("seeded-draw") if c.late > 0.2 and c.file]
    if sum(c.count for c in draws) * KERNEL < EXPLAINS * per * facts.steps:
        return None
    return draws[0]


def _share(facts: Facts, per: float) -> float:
    """Of the memory, what has leaked."""
    return min(1.0, per * facts.steps / max(facts.gauges["rss"].last, 1.0))


def _kernels(facts: Facts, draw: TallyFacts, per: float) -> list[Finding]:
    if per * facts.steps < SLOW_LEAK * facts.gauges["rss"].last:
        return []
    made = finding(
        facts,
        "kernel-leak",
        (draw.file, draw.line),
        f"Memory grows by {size(per)} per step, {size(per * facts.steps)} so far: a global seed is set, and each of the "
        f"{draw.count:,} random ops run eagerly at this line has left a kernel in TensorFlow's cache.",
        None,
        symbol="tf.random",
        since=draw.since,
        bytes_per_step=per,
        memory_share=_share(facts, per),
        draws=draw.count,
    )
    return [made] if made else []


def collector(facts: Facts) -> list[Finding]:
    pauses, runs = facts.gauges.get("gc pause seconds"), facts.gauges.get("gc collections")
    streams = facts.streams_of("gc")
    if pauses is None or not streams or facts.steps < 5 or streams[0].calls < LEAST_PAUSES:
        return []
    seconds, longest = streams[0].seconds, streams[0].seconds / max(1, streams[0].calls)
    worst = max(facts.tallies_of("gc-pause"), key=lambda c: c.seconds * c.late, default=None)
    if worst is not None and (worst.seconds < ASKED * seconds or not worst.file):
        worst = None  # it comes by itself, wherever the program happens to be
    place = (
        (worst.file, worst.line) if worst else (facts.step.file, facts.step.line) if facts.step else ("", 0)
    )
    remedy = "Call gc.freeze() after building the program, or raise gc.set_threshold(50_000, 20, 20)."
    if worst is not None:
        remedy = (
            f"Take {worst.symbol} out of the loop: it collects garbage each time." if worst.symbol else ""
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
