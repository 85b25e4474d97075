"""Every finding of every recording, as it is at the end of the run.

    python tests/corpus/golden.py      # write tests/corpus/golden_findings.txt again, then look at `git diff`

One line per finding, the symptoms that it explains indented under it. Sentences are left out: they may be
reworded without a change of what is found.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent / "helpers")]

import corpus_run  # noqa: E402
from corpus_run import Case, recorded, replay  # noqa: E402
from recording import load  # noqa: E402

from tfslowtop.diagnosis.finding import Finding  # noqa: E402
from tfslowtop.state.view import View  # noqa: E402

GOLDEN = HERE / "golden_findings.txt"


def lines(case: Case, view: View) -> list[str]:
    """What is found in one recording, of which this is the last view."""
    name = case.script.removesuffix(".py")
    found = [line for f in view.findings for line in _of(f, "")]
    return [f"{name:20} {line}" for line in found or ["healthy"]]


def _of(f: Finding, indent: str) -> Iterator[str]:
    cost = f"{f.share:4.0%} {f.cost_seconds:7.2f} s {f.basis}"
    yield f"{'not measured' if f.basis == 'not measured' else cost:24}{indent}{f.label}"
    for symptom in f.symptoms:
        yield from _of(symptom, indent + "  explains ")


@functools.cache
def kept() -> dict[str, list[str]]:
    """The lines of the file, by recording."""
    found: dict[str, list[str]] = {}
    for line in GOLDEN.read_text().splitlines():
        found.setdefault(line.split()[0], []).append(line)
    return found


def main() -> None:
    cases = sorted(corpus_run.cases(), key=lambda c: c.script)
    every = [line for case in cases for line in lines(case, replay(load(recorded(case))[0])[1])]
    GOLDEN.write_text("\n".join(every) + "\n")
    print(f"{len(every)} lines in {GOLDEN.name}. `git diff` shows what changed.")


if __name__ == "__main__":
    main()
