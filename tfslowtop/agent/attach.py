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

from .agent import Agent
from .channel import Channel
from .choose import ENOUGH, choose, matches
from .events import About, ChooseStep, Command, Detach, Note, Phase, Step, Stream
from .forks import around_forks
from .hooks.allocator import AllocatorHook, shown
from .hooks.collector import CollectorHook
from .hooks.counted import CountedHook
from .hooks.created import CreatedHook
from .hooks.data import DataHook
from .hooks.eager import EagerHook
from .hooks.feeds import FeedHook
from .hooks.functions import FunctionHook
from .hooks.graphs import GraphHook
from .hooks.hook import Hook, context
from .hooks.host import HostHook
from .hooks.kept import KeptHook
from .hooks.keras import KerasHook
from .hooks.pyops import PythonOpHook
from .hooks.runs import RunHook
from .hooks.sessions import SessionHook
from .hooks.traces import MODULE as TRACES
from .hooks.traces import TraceHook
from .hooks.updates import UpdateHook
from .hooks.where import WhereHook
from .imports import Watch
from .interrupt import Interrupt
from .kit import REMOVED, Kit
from .loops import Loop
from .mark import Marker
from .patch import NoPlace
from .places import version_of

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
        self._watch.on_import(
            "tensorflow", before=self._importing, after=lambda: self._wait_for("tensorflow.")
        )
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
        self.kit.quiet[0] += REMOVED
        for hook in [*self._hooks, self._traces, self._watch, self._marker]:
            self._guard(hook.remove)  # type: ignore[attr-defined]
        self._guard(self.kit.tracker.finish)
        now = time.perf_counter_ns()
        self._guard(lambda: self._tell(now))
        if self.kit.errors:
            self.agent.emit(Note(f"the agent had {self.kit.errors} errors of its own"))
        self.agent.close()

    def _importing(self) -> None:
        self.agent.emit(Phase("importing", "TensorFlow", time.perf_counter_ns()))
        self.agent.flush()  # an import can hold the interpreter for seconds: the screen is told before

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
        self.kit.gauge("cpu seconds", now, time.process_time_ns() / 1e9)
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
        self.agent.emit(Phase("running", "", now))

    def _announce(self) -> None:
        for loop in list(self.kit.tracker.loops):
            if loop.stream < 0 and loop.count >= ENOUGH:
                loop.stream = self.agent.adopt(loop.buffer, loop.name, loop.kind, loop.file, loop.line)

    def _choose(self, now: int) -> None:
        found = self._pinned, "chosen by the user"
        if found[0] is None and self._wanted:
            named = [loop for loop in self._all() if matches(loop, self._wanted) and loop.stream >= 0]
            found = (max(named, key=lambda loop: loop.count), "named by --step") if named else (None, "")
        if found[0] is None:
            found = choose(list(self.kit.tracker.loops), list(self.kit.functions)) or (None, "")
        loop, why = found
        if loop is None or loop is self.step or loop.stream < 0:
            return
        before, self.step = self.step, loop
        if before is not None:
            self.agent.emit(Stream(before.stream, before.name, before.kind, before.file, before.line))
        self.agent.emit(Stream(loop.stream, loop.name, "step", loop.file, loop.line))
        self.agent.emit(Step(loop.stream, why, now))

    def _forked(self) -> None:
        """In a child of the program: it is not watched, so it runs without hooks."""
        if os.getpid() == self._pid or self._removed:
            return
        self._removed = True
        self.kit.quiet[0] += REMOVED
        for hook in [*self._hooks, self._traces, self._watch, self._marker]:
            self._guard(hook.remove)  # type: ignore[attr-defined]
        self.agent.abandon()


def start(channel: Channel, *, step: str | None = None, script: str = "") -> Attachment:
    """Watches this process; `step` is what the user calls the step, `script` the file that is run."""
    attachment = Attachment(channel, step=step, script=script)
    attachment.start()
    return attachment
