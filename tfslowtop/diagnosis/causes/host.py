"""What the program does beside TensorFlow: it waits, it prepares, it writes, it goes through more and more."""

from __future__ import annotations

import itertools

from ..busy import busy, loggers, looks, seen
from ..facts import Facts, StreamFacts
from ..finding import Finding
from ..make import finding, ms
from .eager import hottest, inside

#: The share of the steps' time that is spent waiting, preparing, writing. Looking at a batch takes some percent; an
#: agent's world or an evaluation of one's own take a third of many a healthy program.
WAITING = 0.3
PREPARING = 0.5
#: Seconds per step below which it is no more than drawing a batch of numbers for a model that is small.
DRAWING = 4e-3
WRITING = 0.2
#: Calls of functions per step from which on the program does more than train: it acts and looks at what comes of it.
ACTS = 1.5
#: Steps from which on CPU time is a witness by itself; how far it has to climb to confirm what wall time does, and
#: by itself; the part of what grows that is Python of the program's own. A neighbour makes all the rest grow, too.
MANY = 300
RISES = 1.15
CLIMB = 1.5
OWN_PART = 0.3
#: Pieces that are joined to one that grows take a part of what its use takes.
JOINS = 0.1


def waiting(facts: Facts) -> list[Finding]:
    """The step stands still in the standard library's own waiting: a queue that another thread or process fills.

    Who answers requests waits for them; who trains does not.
    """
    step, lines = facts.step, seen(facts, lambda b: b.waits)
    place, waited = next(iter(lines.items()), (("", 0), 0.0))
    if step is None or not facts.training or facts.steps < 5 or waited < WAITING * step.seconds:
        return []
    made = finding(
        facts,
        "input-bound",
        place,
        f"The step waits {ms(waited / step.calls)} of {ms(step.seconds / step.calls)} at this line, for another thread "
        "or process to give it something.",
        min(waited, step.seconds),
        symbol="wait",
        remedy="Let several threads or processes prepare the data, or make what they do cheaper.",
        least=0.2,
        waited_share=waited / step.seconds,
        waits_for="thread",
    )
    return [made] if made else []


def preparing(facts: Facts) -> list[Finding]:
    """A training loop whose turns are Python of the program's own for the most part.

    Where a function beside the training step is called at each turn, Python reacts to what that gives, as an
    agent's world does: what it takes then is the work itself.
    """
    step, lines = facts.step, seen(facts, lambda b: b.python)
    if step is None or not lines or not facts.training or facts.steps < 10:
        return []
    # Looks are few and drawn to some lines; what the hooks have timed is certain.
    taken = min(sum(lines.values()), step.seconds - inside(facts))
    if taken < PREPARING * step.seconds:
        return []
    calls = sum(c.calls for c in facts.streams_of("function", "model-call", "predict", "predict-on-batch"))
    if calls > ACTS * facts.steps or step.kind == "fit" or taken < DRAWING * step.calls:
        return []
    place, most = next(iter(lines.items()))
    made = finding(
        facts,
        "input-bound",
        place,
        f"Python code takes {ms(taken / step.calls)} of the {ms(step.seconds / step.calls)} of a step, "
        f"{ms(min(most, taken) / step.calls)} of it at this line; TensorFlow waits for it.",
        min(taken, step.seconds),
        symbol="Python",
        remedy="Do it once before the loop, with NumPy on whole arrays, or in tf.data's map with num_parallel_calls.",
        least=0.3,
        python_share=taken / step.seconds,
        waits_for="python",
    )
    return [made] if made else []


def writing(facts: Facts) -> list[Finding]:
    """Logs, summaries, pictures and files that are written by hand in the loop."""
    step, lines, wholes = facts.step, seen(facts, lambda b: b.writes), loggers(facts)
    besides = sum(c.seconds for c, b in looks(facts) if b.writes and (c.file, b.function) not in wholes)
    taken = besides + sum(wholes.values())
    if step is None or not lines or facts.steps < 10 or taken < WRITING * step.seconds:
        return []
    place, most = next(iter(lines.items()))
    made = finding(
        facts,
        "callback-heavy",
        place,
        f"Logs and files that are written in the loop, and what is computed for them, take {ms(taken / step.calls)} of "
        f"the {ms(step.seconds / step.calls)} of a step; this line alone takes {ms(most / step.calls)}.",
        min(taken, step.seconds),
        symbol="writing",
        least=WRITING,
        remedy="Write every hundred steps, or collect what is to be written and write it at the end.",
        lines=len(lines),
    )
    return [made] if made else []


def growing_input(facts: Facts) -> list[Finding]:
    """The step gets slower, in CPU time too, and nothing else that is counted grows."""
    step = facts.step
    if step is None or step.trend is None or facts.steps < 30 or _several_fits(facts, step):
        return []
    if step.staged:
        return []  # larger pictures from some step on, say
    first, now = step.trend.ends(step.calls)
    excess, own = step.excess, step.trend.direction != "rising"
    if not own and _calm(facts):
        return []  # others have taken more and more of the machine
    if step.trend.direction != "rising":
        if step.trend.direction != "unclear" or not _climbs(facts):
            return []
        # The machine disturbs the wall time too much; what the process computes is known.
        paces = facts.cpu_paces
        first, now = paces[0], paces[-1]
        excess = min(step.seconds, sum(max(0.0, p - first) for p in paces) / len(paces) * step.calls)
    made = finding(
        facts,
        "growing-input",
        _growing_line(facts, step, own),
        f"A step takes {ms(first)} at first and {ms(now)} after {step.calls:,} steps; it is this line that takes more "
        "and more.",
        excess,
        symbol=step.name,
        confidence="medium",
        least=0.15,
        percent_per_100=step.trend.percent,
    )
    return [made] if made else []


def _several_fits(facts: Facts, step: StreamFacts) -> bool:
    """Whether the steps are batches of more than one fit: of other models, which take as long as they take."""
    fits = sum(c.calls for c in facts.streams_of("fit-call"))  # one is known when it is over
    return step.kind == "fit" and (fits > 1 or (fits == 1 and not facts.ended))


def _calm(facts: Facts) -> bool:
    """Whether CPU time per step is known, and does not rise."""
    paces = facts.cpu_paces
    return len(paces) > 4 and sum(paces[-2:]) < RISES * sum(paces[1:3])


def _climbs(facts: Facts) -> bool:
    """Whether CPU time per step rises again and again, by what Python of the program's own takes: with larger
    pictures from some step on, TensorFlow computes more, and nothing grows by itself."""
    paces = facts.cpu_paces
    if not paces or facts.steps < MANY or paces[0] <= 0 or paces[-1] < CLIMB * paces[0]:
        return False
    rises = sum(after > before for before, after in itertools.pairwise(paces))
    growth = [(c.growth, b.python) for c, b in looks(facts) if c.growth > 0]
    own = sum(g for g, python in growth if python)
    return rises >= len(paces) - 2 and own >= OWN_PART * sum(g for g, _ in growth)


def _growing_line(facts: Facts, step: StreamFacts, own: bool) -> tuple[str, int]:
    """The line that takes more and more, of Python of the program's own only if so asked; or where pieces are
    joined, if that is one of those that do."""
    lines: dict[tuple[str, int], float] = {}
    for c in facts.tallies_of("where"):
        if c.file and c.package != "tracing" and (busy(c).python or not own):
            lines[c.file, c.line] = lines.get((c.file, c.line), 0.0) + c.growth
    most = max(lines, key=lambda p: lines[p], default=(step.file, step.line))
    joined = hottest(facts, "ConcatV2", "Pack")
    if joined is not None and lines.get((joined.file, joined.line), 0.0) >= JOINS * lines.get(most, 0.0):
        return joined.file, joined.line
    return most


RULES = (waiting, preparing, writing, growing_input)
