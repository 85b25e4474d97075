"""The corpus, run for real: the first finding of each script against what it should be.

    python tests/corpus_run.py [name ...]      # all scripts, or some; prints the confusion table

Scripts share few processes, because TensorFlow takes longer to import than most of them run.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
sys.path.insert(0, str(HERE.parent))


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

    @property
    def first(self) -> str:
        return self.causes[0] if self.causes else ""

    @property
    def right(self) -> bool:
        named = not self.case.lines or any(piece in self.line for piece in self.case.lines)
        return not self.error and self.first == self.case.cause and (named or not self.first)


def cases(*names: str) -> list[Case]:
    entries = json.loads((CORPUS / "expected.json").read_text())
    found = [Case(e["script"], e["cause"], tuple(e["lines"])) for e in entries]
    return [c for c in found if not names or c.script.removesuffix(".py") in names]


def graph_mode(case: Case) -> bool:
    """Eager execution, once off, stays off: such scripts have a process of their own."""
    text = (CORPUS / case.script).read_text()
    return "disable_v2_behavior" in text or "disable_eager_execution" in text


def groups(chosen: list[Case]) -> list[list[Case]]:
    """What grows needs a process that has not grown before: freed memory is used again."""
    leaks = [c for c in chosen if c.cause.endswith("-leak") and not graph_mode(c)]
    graphs = [c for c in chosen if graph_mode(c)]
    return [leaks, graphs, [c for c in chosen if c not in leaks and c not in graphs]]


def run(chosen: list[Case]) -> list[Result]:
    results = []
    with tempfile.TemporaryDirectory() as out:
        for group in groups(chosen):
            if group:
                scripts = [str(CORPUS / c.script) for c in group]
                env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(HERE.parent)}
                subprocess.run(
                    [sys.executable, str(HERE / "corpus_drive.py"), out, *scripts],
                    check=True, env=env, cwd=out, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                )  # fmt: skip
                results += [judge(c, Path(out) / f"{c.script.removesuffix('.py')}.events") for c in group]
    return results


def judge(case: Case, recorded: Path) -> Result:
    from tfslowtop.analysis.session import Session

    events, error = pickle.loads(recorded.read_bytes())
    session = Session()
    session.feed(events)
    session.streams.think_all()
    end = max(event.at for event in events if hasattr(event, "at"))
    view = session.view(end, 2, 0.5)
    line = text = ""
    if view.findings:
        first = view.findings[0]
        text = first.sentence
        source = (CORPUS / case.script).read_text().splitlines()
        if first.file.endswith(case.script):
            line = source[first.line - 1].strip()
    return Result(case, tuple(f.cause for f in view.findings), line, text, error)


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
    good = [r for r in results if not r.case.cause]
    hits = [f"{sum(r.right for r in group)} of {len(group)}" for group in (slow, good)]
    lines.append(f"right: {hits[0]} slow, {hits[1]} healthy")
    return "\n".join(lines)


if __name__ == "__main__":
    done = run(cases(*sys.argv[1:]))
    print(table(done))
    sys.exit(0 if all(r.right for r in done) else 1)
