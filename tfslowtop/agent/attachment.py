"""The agent in a user's program: installs the hooks, picks the step, and removes everything again.

`start` is called when the import of TensorFlow or NumPy begins. Each hook waits for the modules that it
patches, so it is in place before the program's first call. Nothing here may raise into the program.
"""

from __future__ import annotations

import os
import sys
import time
from _thread import get_ident
from collections.abc import Callable
from typing import Any, Protocol

from .boot.forks import around_forks
from .boot.import_watch import Watch
from .code.ownership import version_of
from .fixes.registry import Fixes
from .hooks.allocator import AllocatorHook, cuda_variables
from .hooks.base import Hook, tensorflow_context
from .hooks.context import HookContext
from .hooks.costly_calls import CostlyCallsHook
from .hooks.created import CreatedHook
from .hooks.datasets import DatasetHook
from .hooks.eager_ops import EagerOpHook
from .hooks.feeds import FeedHook
from .hooks.garbage_collector import GarbageCollectorHook
from .hooks.gradients import GradientHook
from .hooks.graphs import GraphHook
from .hooks.growing_containers import GrowingContainersHook
from .hooks.host_copies import HostCopyHook
from .hooks.keras import KerasHook
from .hooks.patch import MissingTarget
from .hooks.python_ops import PythonOpHook
from .hooks.sampler import Sampler
from .hooks.sessions import SessionHook
from .hooks.settings import SettingsHook
from .hooks.tf_function.calls import FunctionHook
from .hooks.tf_function.places import PLACES as TRACE_PLACES
from .hooks.tf_function.traces import TraceHook
from .hooks.traced_runs import TracedRunHook
from .protocol import events
from .protocol.channel import Channel
from .protocol.events import About, ChooseStep, Command, Detach, Note, Phase, Reported, SetFixes, StepChosen
from .protocol.names import GAUGE_CPU_SECONDS, PHASE_IMPORTING, PHASE_RUNNING, STREAM_STEP, StreamKind
from .safety.interrupt import Interrupt
from .sender import Agent
from .steps.choice import ENOUGH, Choice, choose, matches, trains
from .steps.evaluation import note_evaluations
from .steps.marker import Marker
from .steps.streams import Stream

HOOKS: tuple[type[Hook], ...] = (
    FunctionHook,
    GradientHook,
    SessionHook,
    TracedRunHook,
    FeedHook,
    GraphHook,
    KerasHook,
    CreatedHook,
    DatasetHook,
    PythonOpHook,
    HostCopyHook,
    EagerOpHook,
    GarbageCollectorHook,
    CostlyCallsHook,
    AllocatorHook,
    GrowingContainersHook,
    SettingsHook,
)

#: Seconds between two samples of the main thread: 600 in half a minute, which tell a share to 4 points.
PERIOD = 0.05
#: Samples between two ticks of the hooks, and between two batches: slower than for a scenario, because the
#: program is not ours to slow down, and as often as the watcher redraws.
_TICK, _BATCH = 2, 4
_CHOOSE_EVERY = 400_000_000
_TALLY_EVERY = 1_000_000_000


class ScenarioRun(Protocol):
    """The program that is watched, if it is a scenario."""

    def obey(self, command: Command) -> None: ...

    def leave(self) -> None:
        """End, because nobody watches any more."""


class Attachment:
    def __init__(
        self, channel: Channel, *, step: str | None = None, script: str, scenario: ScenarioRun | None = None
    ) -> None:
        """With `scenario`, its kernel counts the steps, says what it is doing, and obeys commands."""
        self._scenario = scenario
        self.agent = Agent(
            channel,
            on_command=self.obey,
            on_tick=self._tick,
            on_gone=self._gone,
            period=PERIOD,
            ticks=_BATCH if scenario is None else 1,
            may_wake_promptly=self._is_only_thread,
        )
        # A scenario is attached by the thread that runs it. TensorFlow may be imported by any thread.
        self.context = HookContext(self.agent, script, None if scenario is None else get_ident())
        self.step: Stream | None = None
        self._trains = False
        self._wanted = step or ""
        self._is_named = False
        """Whether anything that repeats has the name that the user gave to the step."""
        self._pinned: Stream | None = None
        self._watch = Watch()
        self._hooks_by_module: dict[str, list[Hook]] = {}
        self._hooks = [hook(self.context) for hook in HOOKS]
        self._sampler = Sampler(self.context)
        self._ticks = [hook.tick for hook in self._hooks if type(hook).tick is not Hook.tick]
        self._wakes = 0
        self.fixes = Fixes(self.context, self._next_iteration)
        self._traces = TraceHook(self.agent.emit, self.context, self.fixes.note_trace)
        self._retry: list[Callable[[], bool]] = []
        self._removed = self._introduced = False
        self._pid = os.getpid()
        self._choose_at = self._tally_at = 0
        self._marker = Marker(self.context)
        self._interrupt = Interrupt(self.context.tracker.run_errand)

    def start(self) -> None:
        if self._wanted:
            file, _, line = self._wanted.rpartition(":")
            self.context.tracker.count_calls_of(
                *((file, int(line)) if line.isdigit() and file else (self._wanted, 0))
            )
        for hook in self._hooks:
            for module in hook.modules:
                self._hooks_by_module.setdefault(module, []).append(hook)
        for module in TRACE_PLACES:
            self._hooks_by_module.setdefault(module, [])
        # TensorFlow wraps some of its own methods at the end of its import. Hooks go in after that, on the
        # outside.
        self._watch.on_import("tensorflow", before=self._importing, after=self._imported)
        self._wait_for("keras.", "tf_keras.")
        self._watch.on_import("tfslowtop", after=self._marker.install)
        around_forks(self.agent, self._forked)
        self.agent.start()

    def obey(self, command: Command) -> None:
        """Obey a command of the watcher's, on the agent's thread."""
        if isinstance(command, Detach):
            self.remove()
        elif self._scenario is not None:
            self._scenario.obey(command)
        elif isinstance(command, SetFixes):
            self.fixes.set(command.fixes)
        elif isinstance(command, ChooseStep):
            loops = [loop for loop in self._all() if loop.id == command.stream]
            self._pinned = loops[0] if loops else None
            self._choose(time.perf_counter_ns())

    def _gone(self) -> None:
        self.remove()
        if self._scenario is not None:
            self._scenario.leave()

    def remove(self) -> None:
        """Remove the hooks, send what is left, and let the program run at full speed. Safe to call twice."""
        if self._removed:
            return
        self._removed = True
        self._guard(self.fixes.remove)  # first: they may stand in front of the hooks
        self.context.tracing.stop()
        for hook in [*self._hooks, self._traces, self._watch, self._marker]:
            self._guard(hook.remove)  # type: ignore[attr-defined]
        self._guard(self.context.tracker.finish)
        self._interrupt.close()
        now = time.perf_counter_ns()
        self._guard(lambda: self._send_last(now))
        if self.context.errors:
            self.agent.emit(Note(f"Errors in tfslowtop's agent: {self.context.errors}"))
        self.agent.close()

    def _importing(self) -> None:
        self.context.importing = True
        self.agent.emit(Phase(PHASE_IMPORTING, "TensorFlow", time.perf_counter_ns()))
        self.agent.flush()  # an import can hold the interpreter for seconds: tell the watcher first

    def _imported(self) -> None:
        self.context.imported_at, self.context.importing = time.perf_counter_ns(), False
        self._wait_for("tensorflow.")

    def _wait_for(self, *packages: str) -> None:
        for name, hooks in self._hooks_by_module.items():
            if name.startswith(packages):
                self._watch.on_import(name, after=lambda name=name, hooks=hooks: self._arrived(name, hooks))  # type: ignore[misc]

    def _all(self) -> list[Stream]:
        return [*self.context.tracker.loops, *self.context.functions]

    def _guard(self, action: Callable[[], Any]) -> None:
        try:
            action()
        except Exception as error:
            self.context.report_error(error)

    def _arrived(self, name: str, hooks: list[Hook]) -> None:
        if self._removed:
            return
        for hook in hooks:
            if not self._install(hook, name):
                self._retry.append(lambda hook=hook: self._install(hook, name))  # type: ignore[misc]
        if name in TRACE_PLACES:
            self._traces.install(name)

    def _install(self, hook: Hook, name: str) -> bool:
        """Try to install a hook; False if the module is still being imported, so that it is tried again
        later."""
        module = sys.modules.get(name)
        if module is None or self._removed:
            return True
        try:
            hook.install(module)
        except MissingTarget as missing:
            if getattr(getattr(module, "__spec__", None), "_initializing", False):
                return False
            version = version_of(name.partition(".")[0])
            self.agent.emit(Note(f"Not watched: {hook.title}. Version {version} has no {missing}."))
        except Exception as error:
            self.context.report_error(error)
        return True

    def _is_only_thread(self) -> bool:
        return self._sampler.is_only_thread(time.perf_counter_ns())

    def _tick(self) -> None:
        """Run twenty times a second, on the agent's thread: sample, and every other time all the rest."""
        now = time.perf_counter_ns()
        if self._removed:
            return
        # First of all: what comes later may give the interpreter back to the program.
        self._guard(lambda: self._sampler.tick(now))
        self._wakes += 1
        if self._wakes % _TICK:
            return
        self._retry = [again for again in self._retry if not again()]
        if not self._introduced:
            self._introduce(now)
        self.context.gauge(GAUGE_CPU_SECONDS, now, time.process_time_ns() / 1e9)
        for tick in self._ticks:
            try:
                tick(now)
            except Exception as error:
                self.context.report_error(error)
        if self.context.tracker.errand is not None and not self.context.hooked:
            self._interrupt.ask()
        if self._scenario is None:  # it brings its own
            self._guard(self.fixes.tick)
        if now >= self._choose_at:
            self._choose_at = now + _CHOOSE_EVERY
            self._announce()
            self._choose(now)
        if now >= self._tally_at:
            self._tally_at = now + _TALLY_EVERY
            self._report(now, self._sampler.reported_until)

    def _report(self, now: int, until: int) -> None:
        """Send what lines of the program did until now."""
        self._guard(lambda: note_evaluations(self.context))
        for tally in self.context.tallies.changed(now):
            self.agent.emit(tally)
        self.agent.emit(Reported(until))

    def _send_last(self, now: int) -> None:
        """Send streams, step and tallies as they stand at the end."""
        self._announce()
        self._choose(now)
        if self._wanted and not self._is_named:
            text = f"--step {self._wanted}: nothing of that name repeated."
            self.agent.emit(Note(text))
        self._report(now, now)

    def _introduce(self, now: int) -> None:
        """Announce TensorFlow's version and devices once it has chosen the devices.

        A program that only uses Sessions never chooses; there the first run counts. For a scenario, which is
        ours, TensorFlow may be asked at once.
        """
        tensorflow = sys.modules.get("tensorflow")
        version = getattr(tensorflow, "__version__", None)
        chosen = tensorflow_context()
        own = self._scenario is not None and self.context.imported_at > 0
        if version is None or not (chosen or self.context.graphs or own):
            return
        self._introduced = True
        devices = getattr(chosen, "_physical_devices", None) or ()
        if own:
            devices = getattr(tensorflow, "config").list_physical_devices()  # noqa: B009
        names = tuple(f"{d.device_type}:{i}" for i, d in enumerate(devices))
        self.agent.emit(About(str(version), names, cuda_variables()))
        if self._scenario is None:
            self.agent.emit(Phase(PHASE_RUNNING, "", now))

    def _next_iteration(self) -> int:
        """Return the number of the first iteration of the step that begins after now."""
        return self.step.buffer.head + 1 if self.step is not None else 0

    def _announce(self) -> None:
        for loop in list(self.context.tracker.loops):
            if loop.id < 0 and loop.count >= ENOUGH:
                library = self.context.ownership.is_library(loop.file)
                loop.id = self.agent.adopt(loop.buffer, loop.name, loop.kind, loop.file, loop.line, library)

    def _choose(self, now: int) -> None:
        if self._scenario is not None:
            return
        found = self._find_step()
        if found is None or found.stream.id < 0:
            return
        loop, before = found.stream, self.step
        if loop is before and found.trains == self._trains:
            return
        self.step, self._trains = loop, found.trains
        if loop is not before:
            if before is not None:
                self._announce_as(before.kind, before)
            self._announce_as(STREAM_STEP, loop)
        self.agent.emit(StepChosen(loop.id, found.why, now, found.trains))

    def _announce_as(self, kind: StreamKind, loop: Stream) -> None:
        library = self.context.ownership.is_library(loop.file)
        self.agent.emit(events.Stream(loop.id, loop.name, kind, loop.file, loop.line, library))

    def _find_step(self) -> Choice | None:
        loops = list(self.context.tracker.loops)
        if self._pinned is not None:
            return Choice(self._pinned, "chosen by the user", trains(self._pinned, loops))
        if self._wanted:
            named = [loop for loop in self._all() if matches(loop, self._wanted) and loop.id >= 0]
            if named:
                loop = max(named, key=lambda loop: loop.count)
                self._is_named = True
                return Choice(loop, "named by --step", trains(loop, loops))
        return choose(loops, list(self.context.functions))

    def _forked(self) -> None:
        """Remove the hooks in a forked child, which is not watched."""
        if os.getpid() == self._pid or self._removed:
            return
        self._removed = True
        self._guard(self.fixes.remove)  # first: they may stand in front of the hooks
        self.context.tracing.stop()
        for hook in [*self._hooks, self._traces, self._watch, self._marker]:
            self._guard(hook.remove)  # type: ignore[attr-defined]
        self.agent.abandon()


def start(channel: Channel, *, step: str | None = None, script: str = "") -> Attachment:
    """Watch this process. `step` is what `--step` names, `script` the file that is run."""
    attachment = Attachment(channel, step=step, script=script)
    attachment.start()
    return attachment
