"""Findings as text and as JSON."""

from __future__ import annotations

import linecache
from typing import Any

from ..diagnosis.finding import Finding
from ..diagnosis.rewriting.rewrite import rewritten
from ..state.view import View


def code(f: Finding) -> str:
    """Before and after in the user's own lines; where they do not say it, the example of the cause."""
    source = "".join(linecache.getlines(f.file)) if f.file else ""
    change = rewritten(f, source) if source else None
    return f"# before\n{change.before}\n# after\n{change.after}" if change else f.fix.code


def finding(f: Finding) -> dict[str, Any]:
    """One entry of `findings`. Times are seconds."""
    return {
        "cause": f.cause,
        "file": f.file or None,
        "line": f.line or None,
        "symbol": f.symbol or None,
        "since_step": f.since_step,
        "cost_seconds": None if f.basis == "not measured" else f.cost_seconds,
        "cost_basis": f.basis,
        "share": None if f.basis == "not measured" else f.share,
        "confidence": f.confidence,
        "sentence": f.sentence,
        "evidence": dict(f.evidence),
        "fix": {"summary": f.fix.summary, "code": code(f), "live": f.fix.live},
        "mechanism": f.mechanism,
        "expect": f.expect or None,
        "scenario": f.scenario,
        "symptoms": [finding(s) for s in f.symptoms],
    }


def told(view: View) -> list[str]:
    """What is wrong, in two lines each; or that nothing is."""
    lines = []
    width = max((len(f.cause) for f in view.findings), default=0)
    for number, f in enumerate(view.findings, 1):
        place = f.place + (f" in {f.symbol}" if f.symbol and f.symbol not in f.place else "")
        lines.append(f"  {number}  {f.cause:{width}}  {place or 'the machine'}   {f.share_words}")
        lines.append(f"     {f.sentence}")
        lines.append(f"     {f.fix.summary}")
        lines += [f"     explains: {s.cause}  {s.place}  {s.sentence}" for s in f.symptoms[:3]]
    if not view.findings and view.healthy:
        lines.append(f"  {view.healthy}")
    return lines


def verdict(view: View) -> str:
    """One sentence: the first finding, or that there is none."""
    if not view.findings:
        return view.healthy or "TensorFlow was not imported, and without it no steps are seen."
    first = view.findings[0]
    return (
        f"{first.cause} at {first.place}: {first.sentence}"
        if first.place
        else f"{first.cause}: {first.sentence}"
    )
