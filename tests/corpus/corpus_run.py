"""The corpus, run for real: the first finding of each script against what it should be.

    python tests/corpus/corpus_run.py [name ...]           # all scripts, or some; prints the confusion table
    python tests/corpus/corpus_run.py --record [name ...]  # the same, and keeps what was said in recordings/
    python tests/corpus/corpus_run.py --replay [name ...]  # from there, without TensorFlow, in seconds

`python tests/corpus/golden.py` writes all findings of all recordings to a file.

Scripts share few processes, because TensorFlow takes longer to import than most of them run.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent / "helpers")]

from paths import CORPUS, HELPERS, RECORDINGS, ROOT  # noqa: E402
from recording import SUFFIX, load  # noqa: E402

from tfslowtop.agent.protocol.events import SAMPLE, Ended, Event, Folded, Gauge, Samples, StepChosen, Trace  # noqa: E402
from tfslowtop.diagnosis.engine import diagnose  # noqa: E402
from tfslowtop.diagnosis.facts import gather  # noqa: E402
from tfslowtop.sources.recording import Record, batches  # noqa: E402
from tfslowtop.state.readings import Reading  # noqa: E402
from tfslowtop.state.session import Session  # noqa: E402
from tfslowtop.state.view import View  # noqa: E402

#: Seconds between two views, as in the app.
REFRESH = 0.33
#: Seconds between two tallies, as in the agent: what grows is seen by how they follow each other.
TALLIED = 1.0


@dataclass(frozen=True)
class Case:
    script: str
    cause: str
    """Empty for a healthy one."""
    lines: tuple[str, ...]
    """Pieces of the lines that may be named; none for any line."""


@dataclass(frozen=True)
class Result:
    case: Case
    causes: tuple[str, ...]
    line: str
    text: str
    error: str
    visible: float
    """When the symptom was there to be seen, in seconds from the start; see `visible`."""
    found: float
    """When the first finding was first the right one; infinite if it never was."""
    stayed: float
    """From when on it stayed that."""
    cost: float
    """Seconds of CPU for one diagnosis at the end, when there is most to look at; there is one per second."""

    @property
    def first(self) -> str:
        return self.causes[0] if self.causes else ""

    @property
    def right(self) -> bool:
        placed = not self.case.lines or any(piece in self.line for piece in self.case.lines)
        return not self.error and self.first == self.case.cause and (placed or not self.first)

    @property
    def late(self) -> float:
        """Seconds from the symptom to the finding."""
        return max(0.0, self.found - self.visible)


def cases(*names: str) -> list[Case]:
    entries = json.loads((HERE / "expected.json").read_text())
    found = [Case(e["script"], e["cause"], tuple(e["lines"])) for e in entries]
    return [c for c in found if not names or c.script.removesuffix(".py") in names]


def graph_mode(case: Case) -> bool:
    """Eager execution, once off, stays off: such scripts have a process of their own."""
    text = (CORPUS / case.script).read_text()
    return "disable_v2_behavior" in text or "disable_eager_execution" in text


def groups(chosen: list[Case]) -> list[list[Case]]:
    """What grows needs a process of its own: in one that has grown before, freed memory is used again."""
    texts = {c: (CORPUS / c.script).read_text() for c in chosen}
    # Threads can only be limited before TensorFlow starts.
    alone = [c for c, text in texts.items() if "tensorflow" not in text or "parallelism_threads" in text]
    leaks = [c for c in chosen if c.cause.endswith("-leak") and not graph_mode(c) and c not in alone]
    graphs = [c for c in chosen if graph_mode(c)]
    others = [c for c in chosen if c not in (*alone, *leaks, *graphs)]
    return [*([c] for c in alone), *([c] for c in leaks), graphs, others]


def run(chosen: list[Case], keep: bool = False) -> list[Result]:
    """Run the scripts for real and judge what was recorded."""
    some = [group for group in groups(chosen) if group]
    scripts = [[str(CORPUS / case.script) for case in group] for group in some]
    arguments = [word for group in scripts for word in ("--", *group)][1:]
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": f"{ROOT}{os.pathsep}{HELPERS}"}
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run(
            [sys.executable, str(HERE / "corpus_drive.py"), out, *arguments],
            env=env, cwd=out, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(done.stderr[-3000:])
        results = [judge(case, recorded(case, Path(out))) for group in some for case in group]
        if keep:
            RECORDINGS.mkdir(exist_ok=True)
            for case in chosen:
                shutil.copy(recorded(case, Path(out)), recorded(case))
    return results


def recorded(case: Case, place: Path = RECORDINGS) -> Path:
    return place / f"{case.script.removesuffix('.py')}{SUFFIX}"


def judge(case: Case, path: Path, *, timed: bool = True) -> Result:
    """The first finding at the end; and when it was there, if `timed`."""
    records, error = load(path)
    found, stayed, begin = math.inf, math.inf, records[0].at

    def look(view: View) -> None:
        nonlocal found, stayed
        right = named(case, view)[1]
        at = (view.at - begin) / 1e9 if right else math.inf
        found, stayed = min(found, at), min(stayed, at) if right else math.inf

    session, view = replay(records, REFRESH if timed else TALLIED, look if timed else None)
    line, right = named(case, view)
    if right:
        end = (records[-1].at - begin) / 1e9  # the last word
        found, stayed = min(found, end), min(stayed, end)
    began = time.process_time()
    diagnose(gather(session, records[-1].at))
    cost = time.process_time() - began
    return Result(
        case,
        tuple(f.cause for f in view.findings),
        line,
        view.findings[0].sentence if view.findings else "",
        error,
        (visible(case, records) - begin) / 1e9 if timed else math.nan,
        found,
        stayed,
        cost,
    )


def replay(
    records: Sequence[Record], refresh: float = TALLIED, look: Callable[[View], None] | None = None
) -> tuple[Session, View]:
    """The session at the end of a run, and its view; `look` gets one at every refresh before that."""
    session = Session()
    for now, batch in batches(records, refresh):
        session.feed(batch)
        if look is not None:
            look(session.view(now, 2, 0.5))
    session.streams.recompute_all()
    session.feed([Ended(0, "", records[-1].at)])
    return session, session.view(records[-1].at, 2, 0.5)


def named(case: Case, view: View) -> tuple[str, bool]:
    """The line that the first finding names, and whether cause and line are right."""
    if not view.findings:
        return "", not case.cause
    first, line = view.findings[0], ""
    if first.file.endswith(case.script):
        line = (CORPUS / case.script).read_text().splitlines()[first.line - 1].strip()
    placed = not case.lines or any(piece in line for piece in case.lines)
    return line, first.cause == case.cause and placed


def visible(case: Case, records: Sequence[Record]) -> float:
    """The time at which a person who looks at the right numbers could see it.

    The tenth step is over; and a leak has taken 24 MB since, ten steps in a row have taken half as long again
    as the first ones where steps grow, the slow trace is over.
    """
    steps = [r.event.stream for r in records if isinstance(r.event, StepChosen)]
    times = sorted(t for r in records for t in _ends(r.event, steps[-1] if steps else -1))
    tenth = times[min(9, len(times) - 1)][0] if times else records[-1].at
    if case.cause.endswith("-leak") and case.cause != "session-leak":
        sizes = [
            (r.event.at, r.event.value)
            for r in records
            if isinstance(r.event, Gauge) and r.event.name == "rss"
        ]
        early = [value for at, value in sizes if at >= tenth][:1]
        return min((at for at, value in sizes if early and value >= early[0] + 24e6), default=math.inf)
    if case.cause == "growing-input":
        walls = [wall for _, wall in times]
        usual = sorted(walls[2:12])[len(walls[2:12]) // 2]
        slow = (i for i in range(20, len(walls)) if min(walls[i - 9 : i + 1]) >= 1.5 * usual)
        return times[next(slow, len(walls) - 1)][0]
    if case.cause == "trace-slow":
        return max((r.event.wall, r.event.at + r.event.wall) for r in records if isinstance(r.event, Trace))[
            1
        ]
    return tenth


def _ends(event: Event | Reading, stream: int) -> list[tuple[int, int]]:
    """When the turns of a stream were over, and how long they took."""
    if isinstance(event, Samples) and event.stream == stream:
        return [(start + wall, wall) for start, wall, _ in SAMPLE.iter_unpack(event.packed)]
    if isinstance(event, Folded) and event.stream == stream:
        each = (event.end - event.start) // event.count
        return [(event.start + each * (i + 1), event.wall_sum // event.count) for i in range(event.count)]
    return []


def table(results: list[Result]) -> str:
    """What it is, what was said, and how often; then each one that was wrong."""
    pairs = Counter((r.case.cause or "healthy", r.first or "nothing") for r in results)
    lines = [f"{'is':22}{'said':22}count"]
    for (cause, said), count in sorted(pairs.items()):
        mark = "" if said == cause or (cause, said) == ("healthy", "nothing") else "   <- wrong"
        lines.append(f"{cause:22}{said:22}{count:5}{mark}")
    lines += [
        f"wrong: {r.case.script}: {list(r.causes)} at `{r.line}` {r.error}" for r in results if not r.right
    ]
    slow = [r for r in results if r.case.cause]
    for r in sorted(slow, key=lambda r: -r.late):
        late = f"{r.late:5.1f} s after" if math.isfinite(r.late) else "never found after"
        gone = f"; for good from {r.stayed:.1f} s on" if r.stayed > r.found else ""
        lines.append(
            f"{r.case.script:22}{r.case.cause:22}{late} the symptom, seen at {r.visible:.1f} s{gone}"
        )
    good = [r for r in results if not r.case.cause]
    costs = sorted(1e3 * r.cost for r in results)
    lines.append(
        f"a diagnosis takes {costs[len(costs) // 2]:.1f} ms, {costs[-1]:.1f} ms at most; one a second"
    )
    hits = [f"{sum(r.right for r in group)} of {len(group)}" for group in (slow, good)]
    lines.append(f"right: {hits[0]} slow, {hits[1]} healthy")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    options = {"--record", "--replay"} & set(arguments)
    chosen = cases(*(a for a in arguments if a not in options))
    if "--replay" in options:
        done = [judge(c, recorded(c)) for c in chosen]
    else:
        done = run(chosen, keep="--record" in options)
    print(table(done))
    return 0 if all(r.right for r in done) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
