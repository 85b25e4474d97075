"""The agent in somebody's own program: hooks, loops, the choice of the step, and their removal.

`start` is called when TensorFlow or NumPy begins to be imported. Each hook waits for the modules that hold
its places, so everything is there before the program's first call. Nothing here may raise into the program.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

from .boot.forks import around_forks
from .boot.import_watch import Watch
from .code.ownership import version_of
from .hooks.allocator import AllocatorHook, shown
from .hooks.base import Hook, context
from .hooks.context import Kit
from .hooks.costly_calls import CountedHook
from .hooks.created import CreatedHook
from .hooks.datasets import DataHook
from .hooks.eager_ops import EagerHook
from .hooks.feeds import FeedHook
from .hooks.garbage_collector import CollectorHook
from .hooks.gradients import UpdateHook
from .hooks.graphs import GraphHook
from .hooks.growing_containers import KeptHook
from .hooks.host_copies import HostHook
from .hooks.keras import KerasHook
from .hooks.patch import NoPlace
from .hooks.python_ops import PythonOpHook
from .hooks.sampler import WhereHook
from .hooks.sessions import SessionHook
from .hooks.tf_function.calls import FunctionHook
from .hooks.tf_function.traces import MODULE as TRACES
from .hooks.tf_function.traces import TraceHook
from .hooks.traced_runs import RunHook
from .protocol.channel import Channel
from .protocol.events import About, ChooseStep, Command, Detach, Note, Phase, Step, Stream
from .protocol.names import GAUGE_CPU_SECONDS, PHASE_IMPORTING, PHASE_RUNNING, STREAM_STEP, StreamKind
from .safety.interrupt import Interrupt
from .sender import Agent
from .steps.choice import ENOUGH, Choice, choose, matches, trains
from .steps.marker import Marker
from .steps.streams import Loop

HOOKS: tuple[type[Hook], ...] = (
    FunctionHook,
    UpdateHook,
    SessionHook,
    RunHook,
    FeedHook,
    GraphHook,
    KerasHook,
    CreatedHook,
    DataHook,
    PythonOpHook,
    HostHook,
    EagerHook,
    CollectorHook,
    WhereHook,
    CountedHook,
    AllocatorHook,
    KeptHook,
)

#: Seconds between two looks, and looks between two batches: fewer than a scenario's, because the program is
#: not ours to slow down, and as many as the watcher draws.
PERIOD = 0.1
_TICKS = 2
_CHOOSE_EVERY = 400_000_000
_TALLY_EVERY = 1_000_000_000


class Attachment:
    def __init__(self, channel: Channel, *, step: str | None, script: str) -> None:
        self.agent = Agent(
            channel,
            on_command=self.obey,
            on_tick=self._tick,
            on_gone=self.remove,
            period=PERIOD,
            ticks=_TICKS,
        )
        self.kit = Kit(self.agent, script)
        self.step: Loop | None = None
        self._trains = False
        self._wanted = step or ""
        self._pinned: Loop | None = None
        self._watch = Watch()
        self._places: dict[str, list[Hook]] = {}
        self._hooks = [hook(self.kit) for hook in HOOKS]
        self._ticks = [hook.tick for hook in self._hooks if type(hook).tick is not Hook.tick]
        self._traces = TraceHook(self.agent.emit, self.kit)
        self._retry: list[Callable[[], bool]] = []
        self._removed = self._introduced = False
        self._pid = os.getpid()
        self._choose_at = self._tally_at = 0
        self._marker = Marker(self.kit)
        self._interrupt = Interrupt(self.kit.tracker.run_errand)

    def start(self) -> None:
        if self._wanted:
            file, _, line = self._wanted.rpartition(":")
            self.kit.tracker.count_calls_of(
                *((file, int(line)) if line.isdigit() and file else (self._wanted, 0))
            )
        for hook in self._hooks:
            for module in hook.modules:
                self._places.setdefault(module, []).append(hook)
        self._places.setdefault(TRACES, [])
        # TensorFlow wraps some of its own methods at the end of its import: hooks go in after that, on the
        # outside.
        self._watch.on_import("tensorflow", before=self._importing, after=self._imported)
        self._wait_for("keras.", "tf_keras.")
        self._watch.on_import("tfslowtop", after=self._marker.place)
        around_forks(self.agent, self._forked)
        self.agent.start()

    def obey(self, command: Command) -> None:
        """What the watcher asks for; on the agent's thread."""
        if isinstance(command, Detach):
            self.remove()
        elif isinstance(command, ChooseStep):
            loops = [loop for loop in self._all() if loop.stream == command.stream]
            self._pinned = loops[0] if loops else None
            self._choose(time.perf_counter_ns())

    def remove(self) -> None:
        """Hooks come off; what is known is sent; the program runs on at full speed. May be called twice."""
        if self._removed:
            return
        self._removed = True
        self.kit.tracing.stop()
        for hook in [*self._hooks, self._traces, self._watch, self._marker]:
            self._guard(hook.remove)  # type: ignore[attr-defined]
        self._guard(self.kit.tracker.finish)
        self._interrupt.close()
        now = time.perf_counter_ns()
        self._guard(lambda: self._tell(now))
        if self.kit.errors:
            self.agent.emit(Note(f"the agent had {self.kit.errors} errors of its own"))
        self.agent.close()

    def _importing(self) -> None:
        self.kit.importing = True
        self.agent.emit(Phase(PHASE_IMPORTING, "TensorFlow", time.perf_counter_ns()))
        self.agent.flush()  # an import can hold the interpreter for seconds: the screen is told before

    def _imported(self) -> None:
        self.kit.imported_at, self.kit.importing = time.perf_counter_ns(), False
        self._wait_for("tensorflow.")

    def _wait_for(self, *packages: str) -> None:
        for name, hooks in self._places.items():
            if name.startswith(packages):
                self._watch.on_import(name, after=lambda name=name, hooks=hooks: self._arrived(name, hooks))  # type: ignore[misc]

    def _all(self) -> list[Loop]:
        return [*self.kit.tracker.loops, *self.kit.functions]

    def _guard(self, action: Callable[[], Any]) -> None:
        try:
            action()
        except Exception as error:
            self.kit.oops(error)

    def _arrived(self, name: str, hooks: list[Hook]) -> None:
        if self._removed:
            return
        for hook in hooks:
            if not self._place(hook, name):
                self._retry.append(lambda hook=hook: self._place(hook, name))  # type: ignore[misc]
        if name == TRACES:
            self._traces.install()

    def _place(self, hook: Hook, name: str) -> bool:
        """Whether there is nothing more to do; a module that is still being imported is tried again later."""
        module = sys.modules.get(name)
        if module is None or self._removed:
            return True
        try:
            hook.place(module)
        except NoPlace as missing:
            if getattr(getattr(module, "__spec__", None), "_initializing", False):
                return False
            version = version_of(name.partition(".")[0])
            self.agent.emit(
                Note(f"{hook.title} are not watched: {missing} is not there in version {version}")
            )
        except Exception as error:
            self.kit.oops(error)
        return True

    def _tick(self) -> None:
        """Ten times a second, on the agent's thread."""
        now = time.perf_counter_ns()
        if self._removed:
            return
        self._retry = [again for again in self._retry if not again()]
        if not self._introduced:
            self._introduce(now)
        self.kit.gauge(GAUGE_CPU_SECONDS, now, time.process_time_ns() / 1e9)
        for tick in self._ticks:
            try:
                tick(now)
            except Exception as error:
                self.kit.oops(error)
        if self.kit.tracker.errand is not None and not self.kit.hooked:
            self._interrupt.ask()
        if now >= self._choose_at:
            self._choose_at = now + _CHOOSE_EVERY
            self._announce()
            self._choose(now)
        if now >= self._tally_at:
            self._tally_at = now + _TALLY_EVERY
            for tally in self.kit.tallies.changed(now):
                self.agent.emit(tally)

    def _tell(self, now: int) -> None:
        """The last word: loops, step and tallies as they stand."""
        self._announce()
        self._choose(now)
        for tally in self.kit.tallies.changed(now):
            self.agent.emit(tally)

    def _introduce(self, now: int) -> None:
        """Says what runs here once TensorFlow has chosen its devices.

        A program that only has Sessions never does; its first run will do.
        """
        tensorflow = sys.modules.get("tensorflow")
        version = getattr(tensorflow, "__version__", None)
        chosen = context()
        if version is None or not (chosen or self.kit.graphs):
            return
        self._introduced = True
        devices = getattr(chosen, "_physical_devices", None) or ()
        names = tuple(f"{d.device_type}:{i}" for i, d in enumerate(devices))
        self.agent.emit(About(str(version), names, shown()))
        self.agent.emit(Phase(PHASE_RUNNING, "", now))

    def _announce(self) -> None:
        for loop in list(self.kit.tracker.loops):
            if loop.stream < 0 and loop.count >= ENOUGH:
                library = self.kit.places.is_library(loop.file)
                loop.stream = self.agent.adopt(
                    loop.buffer, loop.name, loop.kind, loop.file, loop.line, library
                )

    def _choose(self, now: int) -> None:
        found = self._find_step()
        if found is None or found.loop.stream < 0:
            return
        loop, before = found.loop, self.step
        if loop is before and found.trains == self._trains:
            return
        self.step, self._trains = loop, found.trains
        if loop is not before:
            if before is not None:
                self._announce_as(before.kind, before)
            self._announce_as(STREAM_STEP, loop)
        self.agent.emit(Step(loop.stream, found.why, now, found.trains))

    def _announce_as(self, kind: StreamKind, loop: Loop) -> None:
        library = self.kit.places.is_library(loop.file)
        self.agent.emit(Stream(loop.stream, loop.name, kind, loop.file, loop.line, library))

    def _find_step(self) -> Choice | None:
        loops = list(self.kit.tracker.loops)
        if self._pinned is not None:
            return Choice(self._pinned, "chosen by the user", trains(self._pinned, loops))
        if self._wanted:
            named = [loop for loop in self._all() if matches(loop, self._wanted) and loop.stream >= 0]
            if named:
                loop = max(named, key=lambda loop: loop.count)
                return Choice(loop, "named by --step", trains(loop, loops))
        return choose(loops, list(self.kit.functions))

    def _forked(self) -> None:
        """In a child of the program: it is not watched, so it runs without hooks."""
        if os.getpid() == self._pid or self._removed:
            return
        self._removed = True
        self.kit.tracing.stop()
        for hook in [*self._hooks, self._traces, self._watch, self._marker]:
            self._guard(hook.remove)  # type: ignore[attr-defined]
        self.agent.abandon()


def start(channel: Channel, *, step: str | None = None, script: str = "") -> Attachment:
    """Watches this process; `step` is what the user calls the step, `script` the file that is run."""
    attachment = Attachment(channel, step=step, script=script)
    attachment.start()
    return attachment
