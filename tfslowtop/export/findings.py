"""Findings as text and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..agent.code.source_lines import source_lines
from ..diagnosis.finding import Finding
from ..diagnosis.rewriting.rewrite import rewritten
from ..diagnosis.rewriting.statement import Change
from ..state.view import View
from .wording import readable


def find_change(f: Finding) -> Change | None:
    """Return the change in the user's own lines, or None where that cannot be written."""
    source = "".join(source_lines(f.file)) if f.file else ""
    return rewritten(f, source) if source else None


def path_from_here(file: str) -> str:
    """Return the path relative to the directory that tfslowtop was started in, if the file is below it."""
    here = Path.cwd()
    return str(Path(file).relative_to(here)) if Path(file).is_relative_to(here) else file


def patch_name(file: str) -> str:
    """Return the file's name in a patch, which must not be absolute: `git apply` refuses that."""
    name = path_from_here(file)
    return Path(name).name if Path(name).is_absolute() else name


def code(f: Finding) -> str:
    """Return the change in the user's own lines, or nothing where that cannot be written."""
    change = find_change(f)
    return f"# before\n{change.before}\n# after\n{change.after}" if change else ""


def finding(f: Finding) -> dict[str, Any]:
    """Return one entry of `findings`. Times are in seconds."""
    return {
        "cause": f.cause,
        "file": f.file or None,
        "line": f.line or None,
        "symbol": readable(f.symbol) or None,
        "since_step": f.since_step,
        "cost_seconds": None if f.basis == "not measured" else f.cost_seconds,
        "cost_basis": f.basis,
        "share": None if f.basis == "not measured" else f.share,
        "confidence": f.confidence,
        "sentence": readable(f.sentence),
        "evidence": dict(f.evidence),
        "fix": {
            "summary": f.fix.summary,
            "code": code(f) or None,
            "example": f.fix.code or None,
            "live": f.fix.live,
        },
        "mechanism": f.mechanism,
        "expect": f.expect or None,
        "scenario": f.scenario,
        "symptoms": [finding(s) for s in f.symptoms],
    }


def describe_findings(view: View) -> list[str]:
    """Return three lines for each finding, or one that says that nothing is wrong."""
    lines = []
    width = max((len(f.cause) for f in view.findings), default=0)
    for number, f in enumerate(view.findings, 1):
        lines.append(f"  {number}  {f.cause:{width}}  {f.where or 'the machine'}   {f.share_words}")
        lines.append(f"     {readable(f.sentence)}")
        lines.append(f"     {f.fix.summary}")
        lines += [f"     explains: {s.cause}  {s.place}  {readable(s.sentence)}" for s in f.symptoms[:3]]
    if not view.findings and view.healthy:
        lines.append(f"  {view.healthy}")
    return lines


def verdict(view: View) -> str:
    """Return the first finding, or that there is none, in one sentence."""
    if not view.findings:
        return view.healthy or "TensorFlow was not imported, so iterations are not counted."
    first = view.findings[0]
    return sentence_with_cause(first)


def sentence_with_cause(f: Finding) -> str:
    """Return cause, place and sentence in one line."""
    where = f" at {f.place}" if f.place else ""
    return f"{f.cause}{where}: {readable(f.sentence)}"
