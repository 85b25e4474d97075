"""Turns an episode of the machine into a finding.

A condition is reported while it lasts, whatever it costs; afterwards, and after the end of the program, only if it
cost much. Its cost comes from the steps before and during the episode or, with too few of them, from the readings.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..cause import Cause
from ..facts import Facts
from ..finding import Finding
from ..machine_episodes import MachineEpisode
from ..make import LEAST_SHARE, finding, ms

#: Steps count as slower from this factor on: a busy machine alone makes that much of a difference.
_SLOWER = 1 + LEAST_SHARE
#: The verbs of `Description.state`.
NOW = {"is": "is", "hits": "hits", "waits": "waits", "use": "use"}
_PAST = {"is": "was", "hits": "hit", "waits": "waited", "use": "used"}


@dataclass(frozen=True, slots=True)
class Description:
    """An episode in words, without a capital and a full stop."""

    change: str
    """What happened when it began."""
    state: str
    """How things are; a template with {is}, {hits}, {waits} and {use} for the tense."""


Describe = Callable[[MachineEpisode], Description]


def report(facts: Facts, cause: Cause, describe: Describe) -> Iterator[Finding | None]:
    """Yield a finding for each episode of a cause."""
    for episode in facts.episodes:
        if episode.cause == cause.id:
            yield _finding(facts, cause, episode, describe(episode))


def _finding(facts: Facts, cause: Cause, episode: MachineEpisode, words: Description) -> Finding | None:
    measured = math.isfinite(episode.slower)
    cost = max(0.0, 1 - 1 / episode.slower) * episode.seconds if measured else episode.lost
    lasts = episode.lasting and not facts.ended
    if not (lasts or cost):
        return None
    return finding(
        facts,
        cause,
        ("", 0),
        _sentence(facts, episode, words),
        cost + episode.others_lost if measured or episode.lost else None,
        at_most=not measured,
        since=episode.step,
        confidence="high" if episode.slower >= _SLOWER else "medium",
        least=0.0 if lasts else LEAST_SHARE,
        **_evidence(facts, episode),
    )


def _evidence(facts: Facts, episode: MachineEpisode) -> dict[str, Any]:
    found: dict[str, Any] = {"gpu": episode.gpu} if episode.gpu else {}
    found |= {name.replace(".", "_"): value for name, value in episode.during.items()}
    found |= {f"{name.replace('.', '_')}_before": value for name, value in episode.before.items()}
    return {
        **found,
        "lasting": episode.lasting,
        "since_time": _local_time(facts, episode.since, "%Y-%m-%dT%H:%M:%S%z"),
        "seconds": episode.seconds,
        "times": episode.times,
        "step_ms": 1e3 * episode.step_during,
        "step_ms_before": 1e3 * episode.step_before,
    }


def _sentence(facts: Facts, episode: MachineEpisode, words: Description) -> str:
    begin, end = (_local_time(facts, at, "%H:%M") for at in (episode.since, episode.until))
    when = f"at {begin}"
    if not episode.lasting:
        when = f"at {begin} for {episode.seconds:.0f} s" if begin == end else f"from {begin} to {end}"
    if episode.times > 1:
        when += f" ({episode.times} times in all)"
    lasts = episode.lasting and not facts.ended
    if not episode.begun:
        text = words.state.format(**(NOW if lasts else _PAST))
        text += "" if episode.lasting else f" until {end}"
    elif episode.slower >= _SLOWER:
        text = f"steps went {_from_to(episode.step_before, episode.step_during)} {when} when {words.change}"
    elif lasts and math.isfinite(episode.slower):
        text = f"{words.change} {when}; steps still take {ms(episode.step_during)}"
    else:
        text = f"{words.change} {when}"
    return f"{text[0].upper()}{text[1:]}."


def gpu_name(episode: MachineEpisode) -> str:
    """Return how to call the episode's device."""
    number = episode.gpu.removeprefix("TF ")
    return f"GPU {number}" if number == episode.gpu else f"TensorFlow's GPU:{number}"


def _local_time(facts: Facts, at: int, form: str) -> str:
    return time.strftime(form, time.localtime((at + facts.clock) / 1e9))


def _from_to(before: float, after: float) -> str:
    """Format two times with the same unit."""
    if max(before, after) < 0.9995:
        return f"from {1e3 * before:.3g} to {1e3 * after:.3g} ms"
    return f"from {before:.3g} to {after:.3g} s"
