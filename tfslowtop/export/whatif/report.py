"""The results of `tfslowtop whatif` as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from ...diagnosis.finding import Finding
from ...diagnosis.make import ms
from .output import TOLERANCE_WORDS
from .trial import Measured, Trial


def table(
    trials: Sequence[Trial], advice: Sequence[Finding], total: Measured | None, diff: str, note: str
) -> str:
    """Return one paragraph per trial, what was found as a whole, and the patch."""
    lines = []
    for trial in trials:
        lines += [
            trial.finding.label,
            f"  change        {trial.change}",
            f"  promised      {_promised(trial)}",
            f"  measured      {_measured(trial)}",
            f"  same results  {_same(trial)}",
        ]
    for f in advice:
        lines += [
            f.label,
            f"  advice        {f.fix.summary}",
            "  not tried     It cannot be written as a patch.",
        ]
    if not lines:
        lines = ["Nothing to try: nothing was found that a change of the script would make faster."]
    elif trials:
        lines.append(f"{sum(trial.is_worth_it for trial in trials)} of {len(trials)} worth changing.")
    if any(trial.how == "patched" and trial.same is not None for trial in trials):
        lines.append(f"Same results: the script prints the same text, and {TOLERANCE_WORDS}.")
    if note and not any(trial.reason == note for trial in trials):
        lines.append(note)
    if total is not None:
        lines.append(f"All patches together: {_ratio(total)}.")
    if diff:
        lines += ["", diff.rstrip("\n")]
    return "\n".join(lines)


def _promised(trial: Trial) -> str:
    low, high = trial.promised
    if not high:
        return "unknown"
    if low == high:
        return f"×{high:.3g}"
    return f"×{low:.3g} to ×{high:.3g}" if low > 1.0 else f"up to ×{high:.3g}"


def _measured(trial: Trial) -> str:
    measured = trial.measured
    if trial.status != "kept":
        ratio = f" (×{measured.ratio:.3g})" if measured is not None and trial.status == "rolled-back" else ""
        return f"{trial.status}: {trial.reason}{ratio}"
    assert measured is not None
    times = f", switched on {_times(len(trial.effects))}" if trial.how == "live" else ", patched copy"
    small = "" if trial.is_worth_it else "; not enough to recommend it"
    return f"{_ratio(measured)}{times}{small}"


def _ratio(measured: Measured) -> str:
    cpu = f", CPU time ×{measured.cpu:.3g}" if measured.cpu is not None else ""
    of = "per step" if measured.of == "step" else "for the whole run"
    interval = "95 % CI " if measured.of == "step" else ""
    return (
        f"×{measured.ratio:.3g} ({interval}{measured.low:.3g}–{measured.high:.3g}), "
        f"{ms(measured.before)} → {ms(measured.after)} {of}{cpu}"
    )


def _times(count: int) -> str:
    return f"{count} {'time' if count == 1 else 'times'}"


def _same(trial: Trial) -> str:
    if trial.status != "kept":
        return f"no: {trial.same_words}" if trial.same is False else "-"
    if trial.same is None:
        words = trial.same_words or "not compared"
        return words if words.startswith("not compared") else f"not compared. {words}"
    return f"yes, {trial.same_words}" if trial.same_words else "yes"


def document(
    argv: Sequence[str],
    trials: Sequence[Trial],
    advice: Sequence[Finding],
    total: Measured | None,
    diff: str,
    note: str,
) -> dict[str, object]:
    return {
        "schema": 1,
        "argv": list(argv),
        "tried": [_trial(trial) for trial in trials],
        "advice": [{**_place(f), "advice": f.fix.summary} for f in advice],
        "total": _figures(total),
        "diff": diff or None,
        "note": note or None,
    }


def _place(f: Finding) -> dict[str, object]:
    return {"cause": f.cause, "file": f.file or None, "line": f.line or None, "symbol": f.symbol or None}


def _trial(trial: Trial) -> dict[str, object]:
    return {
        **_place(trial.finding),
        "change": trial.change,
        "how": trial.how,
        "status": trial.status,
        "recommended": trial.is_worth_it,
        "reason": trial.reason or None,
        "promised": list(trial.promised) if trial.promised[1] else None,
        "measured": _figures(trial.measured),
        "same_results": trial.same if trial.status in ("kept", "rolled-back") else None,
        "same_results_reason": trial.same_words or None,
        "diff": trial.diff or None,
    }


def _figures(measured: Measured | None) -> dict[str, object] | None:
    if measured is None:
        return None
    return {
        "ratio": measured.ratio,
        "low": measured.low,
        "high": measured.high,
        "cpu_ratio": measured.cpu,
        "before_seconds": measured.before,
        "after_seconds": measured.after,
        "of": measured.of,
    }
