"""output-bound: the program prints, logs or writes files most of the time."""

from __future__ import annotations

from collections.abc import Iterator

from ...agent.protocol.names import ACTIVITY_WRITE, TALLY_FLUSH, TALLY_SAVE
from ..cause import Area, Cause, Detector
from ..facts import Facts, Site
from ..finding import Finding
from ..make import finding, ms
from ..names import CALLBACK_HEAVY, GROWING_INPUT, OUTPUT_BOUND
from .callback_heavy import do_rarely

#: The share of the account that is writing. Logs and results of a sensible program take some percent, and what is
#: printed to a slow terminal now and then a tenth.
WRITING = 0.3
#: Seconds of the account, with twenty samples each: fewer do not tell a loop from a start.
ENOUGH = 3.0
#: The share of the writing that has to come in the second half of the time: results that are written once, at the
#: start or at the end, are no habit.
STILL_WRITES, EARLY_WRITES = 0.2, 0.8

CAUSE = Cause(
    id=OUTPUT_BOUND,
    area=Area.HOST,
    headline="Printing, logging or writing files takes much of the time",
    mechanism="The program waits until a line is formatted and written, or a file is opened and closed, before it goes "
    "on. At each step that soon takes longer than the step.",
    advice="Write every hundred steps, or collect the entries and write them at the end; keep files open.",
    before='for step in range(n):\n    ...\n    with open(path, "a") as f:\n        f.write(line)',
    after='with open(path, "a") as f:\n    for step in range(n):\n        ...\n        f.write(line)',
    scenario=None,
    explained_by=(CALLBACK_HEAVY, GROWING_INPUT),
    change=do_rarely,
)


def detect(facts: Facts) -> Iterator[Finding | None]:
    """Writing that takes much of the account, apart from checkpoints, which are callback-heavy."""
    account = facts.account
    if account.seconds < ENOUGH:
        return
    saves = {c.site for c in facts.tallies_of(TALLY_SAVE, TALLY_FLUSH)}
    lines: dict[Site, float] = {}
    for row in account.rows:
        if row.activity == ACTIVITY_WRITE and row.file and (row.file, row.line) not in saves:
            lines[row.file, row.line] = lines.get((row.file, row.line), 0.0) + row.seconds
    lines = {site: seconds for site, seconds in lines.items() if _is_habit(facts, site)}
    if not lines:
        return
    site, most = max(lines.items(), key=lambda line: line[1])
    total = sum(lines.values())
    share = total / account.seconds
    per_step = f", {ms(account.per_step(total))} per step" if account.steps else ""
    yield finding(
        facts,
        CAUSE,
        site,
        f"Writing takes {100 * share:.0f} % of the time{per_step}; this line alone takes "
        f"{100 * most / account.seconds:.0f} %.",
        share * facts.seconds,
        symbol="writing",
        least=WRITING,
        lines=len(lines),
    )


def _is_habit(facts: Facts, site: Site) -> bool:
    """Whether a line writes in the first half of the time and in the second."""
    seen = [c for c in facts.tallies if c.site == site and c.seconds]
    every = sum(c.seconds for c in seen)
    late = sum(c.late * c.seconds for c in seen) / every if every else 0.0
    return STILL_WRITES <= late <= EARLY_WRITES


DETECTOR = Detector(detect, (CAUSE,))
