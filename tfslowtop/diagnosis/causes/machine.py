"""What the machine does to the program. These say nothing about the code, so they rank behind what does.

A condition is told while it lasts, whatever it costs, and afterwards, also after the program, if it cost much. What it costs is told by
the steps before it and meanwhile; where there are too few of them, by the readings alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from ..conditions import CAP, FULL, HEAT, MAJOR, SWAPPED, pool_full
from ..facts import Facts
from ..finding import Finding
from ..machine_episodes import MachineEpisode
from ..make import LEAST_SHARE, finding, ms, size

#: Steps that take less than this many times as long are as they were: a busy machine adds as much by itself.
_SAME = 1 + LEAST_SHARE
_NOW, _THEN = {"is_": "is", "are": "are"}, {"is_": "was", "are": "were"}


def machine(facts: Facts) -> list[Finding]:
    made = (_told(facts, episode) for episode in facts.episodes)
    return [f for f in made if f is not None]


def _told(facts: Facts, episode: MachineEpisode) -> Finding | None:
    measured = math.isfinite(episode.slower)
    cost = max(0.0, 1 - 1 / episode.slower) * episode.seconds if measured else episode.lost
    now = episode.lasting and not facts.ended
    if not (now or cost):
        return None
    return finding(
        facts,
        episode.cause,
        ("", 0),
        _sentence(facts, episode),
        cost + episode.others_lost if measured or episode.lost else None,
        at_most=not measured,
        since=episode.step,
        confidence="high" if episode.slower >= _SAME else "medium",
        least=0.0 if now else LEAST_SHARE,
        **_evidence(facts, episode),
    )


def _evidence(facts: Facts, episode: MachineEpisode) -> dict[str, Any]:
    found: dict[str, Any] = {"gpu": episode.gpu} if episode.gpu else {}
    found |= {name.replace(".", "_"): value for name, value in episode.during.items()}
    found |= {f"{name.replace('.', '_')}_before": value for name, value in episode.before.items()}
    return {
        **found,
        "lasting": episode.lasting,
        "since_time": _time(facts, episode.since, "%Y-%m-%dT%H:%M:%S%z"),
        "seconds": episode.seconds,
        "times": episode.times,
        "step_ms": 1e3 * episode.step_during,
        "step_ms_before": 1e3 * episode.step_before,
    }


def _sentence(facts: Facts, episode: MachineEpisode) -> str:
    change, state = _WORDS[episode.cause](episode)
    begin, end = (_time(facts, at, "%H:%M") for at in (episode.since, episode.until))
    when = f"at {begin}"
    if not episode.lasting:
        when = f"at {begin} for {episode.seconds:.0f} s" if begin == end else f"from {begin} to {end}"
    if episode.times > 1:
        when += f" ({episode.times} times in all)"
    if not episode.begun:
        said = state.format(**(_THEN if facts.ended or not episode.lasting else _NOW))
        said += "" if episode.lasting else f" until {end}"
    elif episode.slower >= _SAME:
        said = f"steps went {_from_to(episode.step_before, episode.step_during)} {when} when {change}"
    elif episode.lasting and not facts.ended and math.isfinite(episode.slower):
        said = f"{change} {when}; steps still take {ms(episode.step_during)}"
    else:
        said = f"{change} {when}"
    return f"{said[0].upper()}{said[1:]}."


def _throttled(episode: MachineEpisode) -> tuple[str, str]:
    quota, share = episode.during.get("cgroup.cpu.quota", math.nan), episode.during["cgroup.cpu.throttled"]
    limit = f"the container's limit of {quota:g} core{'' if quota == 1 else 's'}"
    periods = f"in {share:.0f} % of its periods"
    return f"{limit} began to run out, {periods}", f"{limit} {{is_}} used up {periods}"


def _contention(episode: MachineEpisode) -> tuple[str, str]:
    now = episode.during
    used, cores = now["machine.others"] / 100, now.get("machine.cpus", math.nan)
    wait = f"the program {{is_}} ready and without a core for {now['cpu.wait']:.0f} % of the time"
    state = f"{wait}: other processes {{are}} on {used:.1f} of {cores:.0f} cores"
    before = episode.before.get("machine.others", 0.0) / 100
    if before > 0.75 * used:
        # They were there already, and it is the program that wants more than before.
        share = f"it is ready and without one for {now['cpu.wait']:.0f} % of the time"
        return f"the program wanted a core while others had {used:.1f} of {cores:.0f}: {share}", state
    came = f"other processes went from {before:.1f} to {used:.1f} of {cores:.0f} cores"
    return f"{came}: {wait.format(**_NOW)}", state


def _memory(episode: MachineEpisode) -> tuple[str, str]:
    now = episode.during
    limit, major = now.get("cgroup.memory.limit", 0.0), now.get("faults.major", 0.0)
    used, swap, stalls = (now.get(name, 0.0) for name in ("cgroup.memory", "swap", "pressure.memory"))
    parts = [f"{size(used)} of the limit of {size(limit)} {{are}} in use"] if used >= FULL * limit > 0 else []
    parts += [f"{size(swap)} {{are}} swapped out"] if swap >= SWAPPED else []
    parts += [f"{major:,.0f} pages per second {{are}} read from disk again"] if major >= MAJOR else []
    parts += [f"tasks {{are}} waiting for memory {stalls:.0f} % of the time"] if stalls >= 1 else []
    state = ", ".join(parts)
    return f"memory ran short ({state.format(**_NOW)})", state


def _clock(episode: MachineEpisode) -> tuple[str, str]:
    now, gpu = episode.during, _gpu(episode)
    bits, heat = int(now.get("throttle", 0)), now.get("temperature")
    watts = now.get("power.limit")
    why = [f"{heat:.0f} °C" if heat is not None else ""]
    if bits & HEAT:
        why.insert(0, "heat" if bits & 0x60 else "power brake" if bits & 0x80 else "hardware slowdown")
    elif bits & CAP:
        why.insert(0, f"power cap of {watts:.0f} W" if watts is not None else "power cap")
    reason = f"({', '.join(filter(None, why))})"
    before = episode.before.get("clock", now.get("clock.max", math.nan))
    return (
        f"{gpu}'s clock fell from {before:,.0f} to {now['clock']:,.0f} MHz {reason}",
        f"{gpu}'s clock {{is_}} held at {now['clock']:,.0f} of {now.get('clock.max', math.nan):,.0f} MHz {reason}",
    )


def _shared(episode: MachineEpisode) -> tuple[str, str]:
    now, before = (each.get("utilisation.others", 0.0) for each in (episode.during, episode.before))
    return (
        f"other processes went from {before:.0f} to {now:.0f} % of {_gpu(episode)}'s time",
        f"{_gpu(episode)} {{is_}} used by other processes for {now:.0f} % of the time",
    )


def _full(episode: MachineEpisode) -> tuple[str, str]:
    now, gpu = episode.during, _gpu(episode)
    if pool_full(now):
        used = max(now.get("tf.memory", 0.0), now.get("tf.peak", 0.0))
        text = f"{_gib(used)} of {_gib(now['tf.limit'])} GiB at the peak"
        return (
            f"TensorFlow's memory on {gpu} filled up ({text})",
            f"TensorFlow's memory on {gpu} {{is_}} full ({text})",
        )
    used, total, taken = now["memory"], now["memory.total"], now["memory.others"]
    text = f"{_gib(used)} of {_gib(total)} GiB, {_gib(taken)} GiB of it by others"
    return f"{gpu}'s memory filled up ({text})", f"{gpu}'s memory {{is_}} full ({text})"


_WORDS: dict[str, Callable[[MachineEpisode], tuple[str, str]]] = {
    "cpu-throttled": _throttled,
    "cpu-contention": _contention,
    "memory-pressure": _memory,
    "gpu-throttled": _clock,
    "gpu-contention": _shared,
    "gpu-memory-full": _full,
}
"""Of each cause: what happened, and how it is; the second with room for the tense."""


def _gpu(episode: MachineEpisode) -> str:
    number = episode.gpu.removeprefix("TF ")
    return f"GPU {number}" if number == episode.gpu else f"TensorFlow's GPU:{number}"


def _gib(count: float) -> str:
    """As GPUs are sold, and as their panel says it."""
    return f"{count / 2**30:.1f}"


def _time(facts: Facts, at: int, form: str) -> str:
    """The local time of day."""
    return time.strftime(form, time.localtime((at + facts.clock) / 1e9))


def _from_to(before: float, after: float) -> str:
    if max(before, after) < 0.9995:
        return f"from {1e3 * before:.3g} to {1e3 * after:.3g} ms"
    return f"from {before:.3g} to {after:.3g} s"


RULES = (machine,)
