"""One run of the script in the private copy, and what is kept of it."""

from __future__ import annotations

import linecache
import math
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...agent.protocol.events import Command
from ...agent.protocol.names import GAUGE_CPU_SECONDS
from ...diagnosis.finding import Finding
from ...own_error import say
from ...run import Lens, Run
from ...sources.script import ScriptSource, pass_signals_on
from ...state.session import Session
from ...state.streams import StreamStats
from ...state.view import View
from .workspace import Workspace

#: Seconds between two sentences about a run that goes on.
_PROGRESS = 20.0
#: Steps that a sample should have, and how many times as long it may take for them.
_LEAST_STEPS, _LONGER = 40, 4.0
#: Characters of a failed run's last words that are shown.
_LAST_WORDS = 300


@dataclass(slots=True)
class Observed:
    """What is known of one run."""

    code: int | None = None
    stopped: bool = False
    """Whether we stopped it."""
    stdout: str = ""
    stderr: str = ""
    seconds: float = 0.0
    """Since it first did anything that is watched."""
    wall: float = 0.0
    """Since its process was started."""
    cpu: float | None = None
    step: StreamStats | None = None
    streams: tuple[StreamStats, ...] = ()
    findings: tuple[Finding, ...] = ()
    written_outside: set[str] = field(default_factory=set)
    error: Exception | None = None

    @property
    def was_interrupted(self) -> bool:
        """Whether somebody else ended it with a signal."""
        return not self.stopped and (self.code or 0) in (
            -signal.SIGINT, -signal.SIGTERM, -signal.SIGHUP, 128 + signal.SIGINT,
        )  # fmt: skip

    @property
    def failed(self) -> bool:
        return bool(self.code) and not self.stopped

    @property
    def last_words(self) -> str:
        """The last line that it wrote on standard error: usually its exception."""
        rows = [row.strip() for row in self.stderr.splitlines() if row.strip()]
        return rows[-1][:_LAST_WORDS] if rows else ""


class ProgramRun:
    """Runs the script once. `on_view` may call `send` and `stop`."""

    def __init__(
        self, argv: Sequence[str], workspace: Workspace | None, *, python: str | None, step: str | None
    ) -> None:
        self._argv, self._workspace, self._python, self._step = argv, workspace, python, step
        self._source: ScriptSource | None = None
        self._observed = Observed()
        self._limit = self._sample = math.inf
        self._said = 0.0
        self._stepped = math.inf

    def go(
        self,
        what: str,
        seconds: float,
        texts: Mapping[str, bytes],
        on_view: Callable[[View], None] | None = None,
        *,
        sample: float = math.inf,
    ) -> Observed:
        """Run it with these texts in place of those of the original's files.

        It is stopped after so many seconds, or `sample` seconds after its first step.
        """
        say(f"tfslowtop: {what} …")
        space = self._workspace
        if space is not None:
            space.renew(texts)
            linecache.clearcache()  # the same paths now have other texts
        self._limit, self._sample, self._said = seconds, sample, time.monotonic()
        output = space.output if space is not None else None
        streams = [(output / name).open("wb") for name in ("stdout", "stderr")] if output else []
        try:
            self._run((streams and [stream.fileno() for stream in streams]) or [2, 2], on_view)
        finally:
            for stream in streams:
                stream.close()
        observed = self._observed
        if output is not None:
            observed.stdout, observed.stderr = (
                (output / name).read_text("utf-8", "replace") for name in ("stdout", "stderr")
            )
        return observed

    def send(self, command: Command) -> None:
        if self._source is not None:
            self._source.send(command)

    def stop(self) -> None:
        """Stop it, if it is not stopping already."""
        if self._source is not None and not self._observed.stopped:
            self._observed.stopped = True
            self._source.stop()

    def _run(self, streams: Sequence[int], on_view: Callable[[View], None] | None) -> None:
        space = self._workspace
        with Path("/dev/null").open("rb") as nothing:
            self._source = source = ScriptSource(
                space.argv if space is not None else self._argv,
                python=self._python,
                step=self._step,
                headless=True,
                stdout=streams[0],
                stderr=streams[1],
                stdin=nothing.fileno(),
                cwd=space.cwd if space is not None else None,
                env=space.environment if space is not None else None,
            )
            run = Run(source, Lens(columns=2), lambda view: self._look(run, view, on_view), to_the_end=True)
            with pass_signals_on(source):
                run.pump()
        self._observed.error = run.error
        self._observed.wall = time.monotonic() - run.started
        if run.ended is not None:
            self._observed.code = run.ended.code
        if run.error is None:
            self._keep(run.session)

    def _look(self, run: Run, view: View, on_view: Callable[[View], None] | None) -> None:
        now = time.monotonic()
        if view.pid and self._workspace is not None and view.ended is None:
            self._observed.written_outside |= self._workspace.written_outside(view.pid)
        if on_view is not None:
            on_view(view)
        if view.iterations and math.isinf(self._stepped):
            self._stepped = now
        # A sample of slow steps takes longer.
        enough = self._sample if view.iterations >= _LEAST_STEPS else _LONGER * self._sample
        if now - run.started >= self._limit or now - self._stepped >= enough:
            self.stop()
        if now - self._said >= _PROGRESS and view.ended is None:
            self._said = now
            say(f"tfslowtop:   {now - run.started:.0f} s, {view.iterations:,} steps …")

    def _keep(self, session: Session) -> None:
        session.streams.recompute_all()
        now = time.perf_counter_ns()
        view = session.view(now, 2, 0.5)
        observed = self._observed
        observed.seconds = session.worked(now)
        observed.step = session.streams.all.get(session.step.stream.id) if session.step.stream else None
        observed.streams = tuple(session.streams.all.values())
        observed.findings = tuple(self.original(f) for f in view.findings)
        observed.cpu = session.gauges.gained(GAUGE_CPU_SECONDS, session.since)

    def original(self, f: Finding) -> Finding:
        """Return a finding about the original's files."""
        space = self._workspace
        if space is None:
            return f
        evidence = dict(f.evidence)
        if isinstance(evidence.get("function_file"), str):
            evidence["function_file"] = space.original(str(evidence["function_file"]))
        symptoms = tuple(self.original(s) for s in f.symptoms)
        return replace(f, file=space.original(f.file), evidence=evidence, symptoms=symptoms)
