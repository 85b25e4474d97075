"""The tour that `--demo` plays: the problem, why, the fix, the effect, and the next scenario.

Pure: views and the time in, orders and captions out. What is measured decides when to go on, within time
limits, because a scenario may not behave on this machine as it does on others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..agent.protocol.names import PHASE_RUNNING
from ..catalogue.find import Entry
from ..scenario import Scenario
from ..state.view import View
from ..stats.effect import sentence
from ..stats.trend import Trend, describe_leak

#: The clearest scenario of each kind: a growing graph, retraces, copies, a leak, a constant cost.
DEFAULT = ("graph_growth", "retrace_python_number", "append_history", "open_sessions", "predict_in_loop")

#: Seconds that each part of a scene may last. Importing TensorFlow on a busy machine takes long, but nobody
#: watches that for minutes; a trend is clear after eight seconds at the earliest.
LOADING = 90.0
DEGRADE_LEAST, DEGRADE_MOST = 8.0, 20.0
EFFECT_LEAST, EFFECT_MOST = 5.0, 25.0
SHOW = 7.0

#: Characters of the mechanism that are shown: about ten seconds of reading.
_READ = 200

State = Literal["start", "loading", "degrade", "effect", "show"]


@dataclass(frozen=True, slots=True)
class Start:
    entry: Entry


@dataclass(frozen=True, slots=True)
class Switch:
    fixes: tuple[str, ...]


def scenes(entries: Sequence[Entry], ids: Sequence[str]) -> list[Entry]:
    """Return the entries to play, in order: those asked for or the default ones, without missing ones."""
    known = {entry.id: entry for entry in entries if entry.scenario is not None and entry.scenario.fixes}
    return [known[id] for id in ids or DEFAULT if id in known] or list(known.values())[:5]


class Tour:
    """Takes every view with `advance` and returns what to do; `caption` is what to show."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._scenes = list(entries)
        self._place = 0
        self._state: State = "start"
        self._since = 0.0
        self.caption = ""

    @property
    def state(self) -> State:
        return self._state

    @property
    def entry(self) -> Entry:
        return self._scenes[self._place % len(self._scenes)]

    def advance(self, view: View | None, now: float) -> Start | Switch | None:
        """Return what to do now. `view` is None until the scenario that was started last has one."""
        waited = now - self._since
        if self._state == "start":
            self._enter("loading", now)
            self._say("the problem", self._scenario.claim)
            return Start(self.entry)
        if view is not None and (view.failure is not None or view.ended is not None):
            return self._next("it ended; moving on", now)
        if self._state == "loading":
            if view is not None and view.phase == PHASE_RUNNING:
                self._enter("degrade", now)
                self._say("why", _beginning(self._scenario.mechanism))
            elif waited > LOADING:
                return self._next("it takes too long to start on this machine", now)
        elif view is not None and self._state == "degrade":
            return self._degrade(view, waited, now)
        elif view is not None and self._state == "effect":
            self._effect(view, waited, now)
        elif self._state == "show" and waited > SHOW:
            return self._next("", now)
        elif view is not None and self._state == "show":
            self._say_measured(view)  # the measurement goes on, as everywhere on the screen
        return None

    @property
    def _scenario(self) -> Scenario:
        assert self.entry.scenario is not None
        return self.entry.scenario

    def _degrade(self, view: View, waited: float, now: float) -> Start | Switch | None:
        panel = view.panel("latency")
        trend = view.segments[-1].memory if self._leaks else panel.trend if panel else None
        if (waited < DEGRADE_LEAST or not _clear(trend)) and waited < DEGRADE_MOST:
            return None
        self._enter("effect", now)
        titles = [fix.title for fix in self._scenario.fixes if fix.id in self._scenario.cured_by]
        self._say("the fix", "; ".join(titles))
        return Switch(tuple(dict.fromkeys((*self._scenario.base, *self._scenario.cured_by))))

    def _effect(self, view: View, waited: float, now: float) -> None:
        marks, memory = view.marks, view.segments[-1].memory
        known = bool(marks) and (_clear(memory) if self._leaks else marks[-1].effect is not None)
        if (known and waited > EFFECT_LEAST) or waited > EFFECT_MOST:
            self._say_measured(view)
            self._enter("show", now)

    @property
    def _leaks(self) -> bool:
        """Whether memory shows the effect; latency need not change at all then."""
        return self._scenario.kind == "leaks"

    def _say_measured(self, view: View) -> None:
        effect = view.marks[-1].effect if view.marks else None
        if self._leaks and view.marks:
            before, after = (segment.memory for segment in view.segments[-2:])
            self._say("the effect", f"memory {_leak(before)} → {_leak(after)}")
        elif effect is not None:
            self._say("the effect", sentence(effect))
        else:
            self._say("the effect", "no effect was measured in time on this machine")

    def _next(self, why: str, now: float) -> Start | Switch | None:
        self._place += 1
        self._enter("start", now)
        self._say("next", why or self.entry.title)
        return None

    def _enter(self, state: State, now: float) -> None:
        self._state, self._since = state, now

    def _say(self, what: str, words: str) -> None:
        place = f"{self._place % len(self._scenes) + 1}/{len(self._scenes)}"
        self.caption = f"{place} {what}: {words}" if words else f"{place} {what}"


def _clear(trend: Trend | None) -> bool:
    return trend is not None and trend.direction != "unclear"


def _leak(trend: Trend | None) -> str:
    return describe_leak(trend) if trend else "unclear"


def _beginning(text: str) -> str:
    """Return the first sentences, as many as can be read while a curve climbs."""
    sentences = text.split(". ")
    count = 1
    while count < len(sentences) and len(". ".join(sentences[: count + 1])) <= _READ:
        count += 1
    return ". ".join(sentences[:count]).rstrip(".") + "."
