"""A program without TensorFlow. No hook is in it, so it has no steps: where it is and what it keeps was looked at."""

from __future__ import annotations

from ..busy import Place, seen
from ..facts import Facts, short
from ..finding import Finding
from ..make import finding, size
from ..texts import WITH_NUMPY

#: Seconds of looks, ten a second, below which they say nothing.
ENOUGH = 5.0
#: The share of the time at one line. Joining arrays now and then takes some percent.
JOINING = 0.25
EACH = 0.3
#: Bytes, and share of the memory, up to which a list may well be meant to keep what it has: samples, snapshots.
KEPT = 200e6
KEPT_SHARE = 0.5
#: The part of a growth that has to come in the second half of the time: what is collected at the start, to work on
#: it, does not grow any more.
STILL = 0.3
#: Looks at all times: a program without steps has no half in which only its start would be.
ALWAYS = -1.0
#: Lines that are named when nothing is wrong, and the share from which on one is.
NAMED = 3
WORTH_NAMING = 0.1


def applies(facts: Facts) -> bool:
    return facts.alone and facts.step is None and facts.seconds >= ENOUGH


def joining(facts: Facts) -> list[Finding]:
    """An array that is joined with more to a new one of the same name, and has grown that way."""
    grown = {last(c.symbol): c for c in facts.tallies_of("grown-array") if c.late >= STILL}
    joins = [(c, last(c.array)) for c in facts.tallies_of("where") if c.array]
    lines = [(c, grown[name]) for c, name in joins if name in grown and c.file]
    if not lines or not applies(facts):
        return []
    line, array = max(lines, key=lambda pair: pair[0].seconds)
    seconds = sum(c.seconds for c, _ in lines if (c.file, c.line) == (line.file, line.line))
    made = finding(
        facts,
        "growing-input",
        (line.file, line.line),
        f"All of {array.symbol} is copied to a longer array at this line, again and again: {seconds:.1f} s, "
        f"{100 * facts.share(seconds):.0f} % of the time. It has {array.count:,} more rows than at first, "
        f"{size(array.size)} in all.",
        seconds,
        symbol=array.symbol,
        least=JOINING,
        text=WITH_NUMPY["growing-input"],
        rows=array.count,
        bytes=array.size,
    )
    return [made] if made else []


def each(facts: Facts) -> list[Finding]:
    """Functions of NumPy's that call a Python function for each item."""
    found = []
    for called, name in (("apply_along_axis", "np.apply_along_axis"), ("_vectorize", "np.vectorize")):
        lines = _lines(facts, called) if applies(facts) else {}
        place, seconds = next(iter(lines.items()), (("", 0), 0.0))
        made = finding(
            facts,
            "python-op",
            place,
            f"{name} calls a Python function for each item at this line: {seconds:.1f} s, "
            f"{100 * facts.share(seconds):.0f} % of the time.",
            seconds,
            symbol=name,
            least=EACH,
            text=WITH_NUMPY["python-op"],
        )
        found += [made] if made else []
    return found


def keeping(facts: Facts) -> list[Finding]:
    """A list, dict or set of the program's that grows to the end."""
    rss = facts.gauges.get("rss")
    kept = [c for c in facts.tallies_of("kept-object") if c.late >= STILL and not c.bounded]
    if rss is None or not kept or not applies(facts):
        return []
    most = max(kept, key=lambda c: c.size)
    share = most.size / max(rss.largest, 1.0)
    if most.size < KEPT or share < KEPT_SHARE:
        return []
    name, kind = most.symbol, most.container
    made = finding(
        facts,
        "python-leak",
        (most.file, most.line),
        f"{name}, a {kind}, has {most.count:,} more entries than at first and still grows: it keeps "
        f"{size(most.size)} of the {size(rss.largest)} in memory.",
        None,
        symbol=name,
        confidence="high" if most.file else "medium",
        names={"container": name},
        memory_share=min(1.0, share),
        rss=rss.largest,
        kept=most.count,
    )
    return [made] if made else []


def healthy(facts: Facts) -> str:
    """What is said when nothing is wrong: where the time goes, so far as that was looked at."""
    if not applies(facts):
        return ""
    told = [
        f"{short(file)}:{line} ({100 * facts.share(seconds):.0f} %)"
        for (file, line), seconds in list(_lines(facts).items())[:NAMED]
        if facts.share(seconds) >= WORTH_NAMING
    ]
    return "Nothing wrong found" + (f"; most of the time is spent at {', '.join(told)}." if told else ".")


def last(name: str) -> str:
    """`rows` of `self.rows`."""
    return name.rpartition(".")[2]


def _lines(facts: Facts, callee: str = "") -> dict[Place, float]:
    """Seconds by line of the program's own, the dearest first; of calls whose names begin so."""
    return seen(facts, lambda b: b.callee.startswith(callee), late=ALWAYS)


RULES = (joining, each, keeping)
