"""Runs a script, tries what its findings advise, and says what each change brings.

The first run is watched, and live fixes are switched on and off in it. A second run without any change is
the control: it tells what differs from run to run. Then the script runs with each change that can be written
as a patch. One that is kept stays for the runs after it, and what they still find is tried next.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ...diagnosis.finding import Finding
from ...diagnosis.names import RETRACE_PYTHON_VALUE, CauseId
from ...diagnosis.registry import causes
from ...own_error import say
from ...sources.script import ScriptSource
from ...state.live_fixes import promised_ratios
from ...state.view import View
from ..files import ResultFile, as_json
from . import report
from .compare_runs import effect, whole_run
from .live import LiveTrials
from .output import compare
from .patches import Texts
from .program_run import Observed, ProgramRun
from .trial import Measured, Trial
from .workspace import TooLargeError, Workspace

#: The part of the time that the first run may take, and seconds after which one that seems to have no end is
#: stopped once its live fixes are tried.
_FIRST, _FIRST_AT_MOST = 1 / 3, 80.0
#: Seconds of a run that has nothing more to try, before it is stopped.
_NOTHING_NEW = 20.0
#: Seconds of steps in each further run of a script without an end, and the least time that is worth a run.
_SAMPLE, _LEAST = 20.0, 8.0
#: How many times as long as the control a patched run may take, and seconds beyond that.
_LONGER, _MARGIN = 2.0, 10.0
#: Changes that are tried at most.
_MOST_TRIALS = 6


class WhatIf:
    """Tries what would bring the script at `argv` forward."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        python: str | None = None,
        step: str | None = None,
        json: str | None = None,
        max_seconds: float = 300.0,
    ) -> None:
        """Raise SourceError if the script cannot run or the file cannot be written; start nothing yet."""
        ScriptSource(argv, python=python, headless=True).check()
        self._argv, self._python, self._step = argv, python, step
        self._file = ResultFile(json) if json else None
        self._max = max_seconds
        self._until = 0.0
        self._workspace: Workspace | None = None
        self._texts = Texts()
        self._live: LiveTrials | None = None
        self._retry: Finding | None = None
        self._tried: set[tuple[CauseId, str, str]] = set()
        self._began = self._last_new = 0.0
        self.trials: list[Trial] = []
        self.first = Observed()
        self.advice: list[Finding] = []
        """The findings that no change was tried for."""
        self.total: Measured | None = None
        """What all recommended patches bring together, if there are several."""
        self.note = ""
        """Why no patched copy was run, if none was."""

    def go(self) -> None:
        """Run everything. Raises the first error of our own."""
        self._until = time.monotonic() + self._max
        try:
            self._workspace = Workspace(self._argv)
        except TooLargeError as reason:
            self.note = str(reason)
        try:
            self._run_all()
        finally:
            if self._workspace is not None:
                self._workspace.close()
        if self._file is not None and (problem := self._file.write(as_json(self.document()))):
            say(f"tfslowtop: {problem}")

    def _program(self) -> ProgramRun:
        return ProgramRun(self._argv, self._workspace, python=self._python, step=self._step)

    # The first run

    def _run_all(self) -> None:
        program = self._program()
        self._live = live = LiveTrials(program.send)
        where = "in a private copy of its directory" if self._workspace else "in its directory"
        self._began = self._last_new = time.monotonic()
        self.first = program.go(
            f"running the script {where}", self._max * _FIRST, {}, lambda view: self._look(program, view)
        )
        self.trials = list(live.trials)
        for trial in self.trials:
            trial.finding = program.original(trial.finding)
        if self.first.error is not None:
            raise self.first.error
        if self.first.failed:
            live.note_failure(self.first.last_words)
        if not self.first.was_interrupted and (live.was_switched_on or not self.first.failed):
            self._try_patches()
        patched = {t.finding.key for t in self.trials if t.how == "patched"}
        # A short script ends before a live fix can be measured; then the patched copy tells.
        self.trials = [
            t for t in self.trials if t.how == "patched" or not t.is_open or t.finding.key not in patched
        ]
        tried = {t.finding.key for t in self.trials if not t.is_open}
        self.advice = [
            f for f in self.first.findings if f.key not in tried and not causes()[f.cause].is_machines
        ]

    def _look(self, program: ProgramRun, view: View) -> None:
        assert self._live is not None
        now = time.monotonic()
        if view.ended is not None:
            self._live.collect(view)
            return
        if self._live.look(view) or not view.iterations:
            self._last_new = now
            return
        is_quiet = now - self._last_new > _NOTHING_NEW
        was_long = bool(self._live.trials) and now - self._began > _FIRST_AT_MOST
        if was_long or (is_quiet and (self._workspace is None or not view.findings)):
            program.stop()

    # Patched copies

    def _try_patches(self) -> None:
        """Try the changes one after the other: those that are kept stay for the next one."""
        first, control = self.first, None
        spoilt = self._live is not None and self._live.was_switched_on
        unpatched = base_runs = [] if spoilt else [first]
        base = first
        while len(self.trials) < _MOST_TRIALS and (found := self._next(base.findings)) is not None:
            f, texts = found
            trial = Trial(f, "patched", f.fix.summary, promised_ratios(f), diff=texts.diff(self._texts))
            self.trials.append(trial)
            if refusal := self._refusal(f, base):
                trial.status, trial.reason = "refused", refusal
                continue
            if control is None:
                control = self._again("running it once more without a change", {}, first)
                if control is None or control.was_interrupted or control.failed:
                    trial.reason = "The script could not be run once more without a change."
                    return
                unpatched = base_runs = [*unpatched, control]
            run = self._again(f"running it with a change at {f.where} ({f.cause})", texts.encoded, control)
            if run is None or run.was_interrupted:
                trial.reason = "It was interrupted." if run else "There was no time left to run it."
                return
            self._judge(trial, base_runs, (control,) if first.failed else (first, control), run)
            has_failed = trial.status == "failed"
            if f.cause == RETRACE_PYTHON_VALUE and f.evidence.get("dtypes"):
                del self.trials[-1 if has_failed else -2]  # it is told once, with another dtype or without
            elif has_failed:
                self._retry = _with_dtype(f)
            if trial.is_worth_it:
                is_second = base is not first
                new = set(texts.lines(f.file)) - set(self._texts.lines(f.file))
                self._tried |= {(f.cause, f.symbol, row.strip()) for row in new}  # not once more
                self._texts, base, base_runs = texts, run, [run]
                self.total = whole_run(unpatched, run) if is_second else None

    def _next(self, findings: Sequence[Finding]) -> tuple[Finding, Texts] | None:
        """Return the next finding with a change that can be written as a patch, and the texts with it."""
        again, self._retry = self._retry, None
        if again is not None and (texts := self._texts.with_change(again)) is not None:
            return again, texts
        for f in findings:
            lines = self._texts.lines(f.file) if f.file else []
            line = lines[f.line - 1].strip() if 0 < f.line <= len(lines) else ""
            key = (f.cause, f.symbol, line)
            if causes()[f.cause].is_machines or key in self._tried:
                continue
            texts = self._texts.with_change(f)
            if texts is not None:
                self._tried.add(key)
                return f, texts
        return None

    def _refusal(self, f: Finding, base: Observed) -> str:
        if self._workspace is None:
            return self.note
        if self._workspace.private(f.file) == f.file:
            return f"{Path(f.file).name} is not in the script's directory: a copy of it would not be used."
        if base.written_outside:
            some = ", ".join(sorted(base.written_outside)[:2])
            return (
                f"The script writes outside of its directory ({some}), where a second run would overwrite it."
            )
        return ""

    def _again(self, what: str, texts: Mapping[str, bytes], like: Observed) -> Observed | None:
        """Run it once more, for as long as what it is compared with; None if there is no time left."""
        left = self._until - time.monotonic()
        if left < _LEAST:
            return None
        if self.first.stopped:
            observed = self._program().go(what, left, texts, sample=_SAMPLE)
        else:
            observed = self._program().go(what, min(left, _LONGER * like.wall + _MARGIN), texts)
        if observed.error is not None:
            raise observed.error
        return observed

    def _judge(
        self, trial: Trial, base: Sequence[Observed], unpatched: Sequence[Observed], run: Observed
    ) -> None:
        trial.effects = [e for e in (effect(one, run) for one in base) if e is not None]
        trial.whole = whole_run(base, run)
        ended = not any(one.stopped for one in (*unpatched, run))
        if run.failed or (ended and run.code != unpatched[-1].code):
            trial.status, trial.reason = "failed", run.last_words or f"It ended with exit code {run.code}."
            return
        said = compare([one.stdout for one in unpatched], run.stdout, whole=ended)
        trial.same, trial.same_words = said.same, said.words
        if said.same is False:
            trial.status, trial.reason = "rolled-back", f"The results differ: {said.words}."
        elif trial.measured is None:
            trial.reason = "There were too few steps to measure it."
        else:
            trial.status, trial.reason = "kept", ""

    # Results

    @property
    def was_stopped(self) -> bool:
        return self.first.stopped

    @property
    def worth_changing(self) -> bool:
        return any(trial.is_worth_it for trial in self.trials)

    @property
    def diff(self) -> str:
        """All recommended changes as one patch."""
        return self._texts.diff()

    def document(self) -> dict[str, object]:
        return report.document(self._argv, self.trials, self.advice, self.total, self.diff, self.note)

    def table(self, *, with_diff: bool = True) -> str:
        diff = self.diff if with_diff else ""
        return report.table(self.trials, self.advice, self.total, diff, self.note)


def _with_dtype(f: Finding) -> Finding | None:
    """Return a finding whose change converts a number to another dtype, if that is what it is about."""
    if f.cause != RETRACE_PYTHON_VALUE:
        return None
    is_whole = "int" in str(f.evidence.get("example"))
    return replace(f, evidence={**f.evidence, "dtypes": ["float32" if is_whole else "float64"]})
