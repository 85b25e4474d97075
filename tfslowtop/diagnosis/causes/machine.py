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
from ..machine_episodes import Spell
from ..make import LEAST_SHARE, finding, ms, size

#: Steps that take less than this many times as long are as they were: a busy machine adds as much by itself.
_SAME = 1 + LEAST_SHARE
_NOW, _THEN = {"is_": "is", "are": "are"}, {"is_": "was", "are": "were"}


def machine(facts: Facts) -> list[Finding]:
    made = (_told(facts, spell) for spell in facts.spells)
    return [f for f in made if f is not None]


def _told(facts: Facts, spell: Spell) -> Finding | None:
    measured = math.isfinite(spell.slower)
    cost = max(0.0, 1 - 1 / spell.slower) * spell.seconds if measured else spell.lost
    now = spell.lasting and not facts.ended
    if not (now or cost):
        return None
    return finding(
        facts,
        spell.cause,
        ("", 0),
        _sentence(facts, spell),
        cost + spell.others_lost if measured or spell.lost else None,
        at_most=not measured,
        since=spell.step,
        confidence="high" if spell.slower >= _SAME else "medium",
        least=0.0 if now else LEAST_SHARE,
        **_evidence(facts, spell),
    )


def _evidence(facts: Facts, spell: Spell) -> dict[str, Any]:
    found: dict[str, Any] = {"gpu": spell.gpu} if spell.gpu else {}
    found |= {name.replace(".", "_"): value for name, value in spell.during.items()}
    found |= {f"{name.replace('.', '_')}_before": value for name, value in spell.before.items()}
    return {
        **found,
        "lasting": spell.lasting,
        "since_time": _time(facts, spell.since, "%Y-%m-%dT%H:%M:%S%z"),
        "seconds": spell.seconds,
        "times": spell.times,
        "step_ms": 1e3 * spell.step_during,
        "step_ms_before": 1e3 * spell.step_before,
    }


def _sentence(facts: Facts, spell: Spell) -> str:
    change, state = _WORDS[spell.cause](spell)
    begin, end = (_time(facts, at, "%H:%M") for at in (spell.since, spell.until))
    when = f"at {begin}"
    if not spell.lasting:
        when = f"at {begin} for {spell.seconds:.0f} s" if begin == end else f"from {begin} to {end}"
    if spell.times > 1:
        when += f" ({spell.times} times in all)"
    if not spell.begun:
        said = state.format(**(_THEN if facts.ended or not spell.lasting else _NOW))
        said += "" if spell.lasting else f" until {end}"
    elif spell.slower >= _SAME:
        said = f"steps went {_from_to(spell.step_before, spell.step_during)} {when} when {change}"
    elif spell.lasting and not facts.ended and math.isfinite(spell.slower):
        said = f"{change} {when}; steps still take {ms(spell.step_during)}"
    else:
        said = f"{change} {when}"
    return f"{said[0].upper()}{said[1:]}."


def _throttled(spell: Spell) -> tuple[str, str]:
    quota, share = spell.during.get("cgroup.cpu.quota", math.nan), spell.during["cgroup.cpu.throttled"]
    limit = f"the container's limit of {quota:g} core{'' if quota == 1 else 's'}"
    periods = f"in {share:.0f} % of its periods"
    return f"{limit} began to run out, {periods}", f"{limit} {{is_}} used up {periods}"


def _contention(spell: Spell) -> tuple[str, str]:
    now = spell.during
    used, cores = now["machine.others"] / 100, now.get("machine.cpus", math.nan)
    wait = f"the program {{is_}} ready and without a core for {now['cpu.wait']:.0f} % of the time"
    state = f"{wait}: other processes {{are}} on {used:.1f} of {cores:.0f} cores"
    before = spell.before.get("machine.others", 0.0) / 100
    if before > 0.75 * used:
        # They were there already, and it is the program that wants more than before.
        share = f"it is ready and without one for {now['cpu.wait']:.0f} % of the time"
        return f"the program wanted a core while others had {used:.1f} of {cores:.0f}: {share}", state
    came = f"other processes went from {before:.1f} to {used:.1f} of {cores:.0f} cores"
    return f"{came}: {wait.format(**_NOW)}", state


def _memory(spell: Spell) -> tuple[str, str]:
    now = spell.during
    limit, major = now.get("cgroup.memory.limit", 0.0), now.get("faults.major", 0.0)
    used, swap, stalls = (now.get(name, 0.0) for name in ("cgroup.memory", "swap", "pressure.memory"))
    parts = [f"{size(used)} of the limit of {size(limit)} {{are}} in use"] if used >= FULL * limit > 0 else []
    parts += [f"{size(swap)} {{are}} swapped out"] if swap >= SWAPPED else []
    parts += [f"{major:,.0f} pages per second {{are}} read from disk again"] if major >= MAJOR else []
    parts += [f"tasks {{are}} waiting for memory {stalls:.0f} % of the time"] if stalls >= 1 else []
    state = ", ".join(parts)
    return f"memory ran short ({state.format(**_NOW)})", state


def _clock(spell: Spell) -> tuple[str, str]:
    now, gpu = spell.during, _gpu(spell)
    bits, heat = int(now.get("throttle", 0)), now.get("temperature")
    watts = now.get("power.limit")
    why = [f"{heat:.0f} °C" if heat is not None else ""]
    if bits & HEAT:
        why.insert(0, "heat" if bits & 0x60 else "power brake" if bits & 0x80 else "hardware slowdown")
    elif bits & CAP:
        why.insert(0, f"power cap of {watts:.0f} W" if watts is not None else "power cap")
    reason = f"({', '.join(filter(None, why))})"
    before = spell.before.get("clock", now.get("clock.max", math.nan))
    return (
        f"{gpu}'s clock fell from {before:,.0f} to {now['clock']:,.0f} MHz {reason}",
        f"{gpu}'s clock {{is_}} held at {now['clock']:,.0f} of {now.get('clock.max', math.nan):,.0f} MHz {reason}",
    )


def _shared(spell: Spell) -> tuple[str, str]:
    now, before = (each.get("utilisation.others", 0.0) for each in (spell.during, spell.before))
    return (
        f"other processes went from {before:.0f} to {now:.0f} % of {_gpu(spell)}'s time",
        f"{_gpu(spell)} {{is_}} used by other processes for {now:.0f} % of the time",
    )


def _full(spell: Spell) -> tuple[str, str]:
    now, gpu = spell.during, _gpu(spell)
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


_WORDS: dict[str, Callable[[Spell], tuple[str, str]]] = {
    "cpu-throttled": _throttled,
    "cpu-contention": _contention,
    "memory-pressure": _memory,
    "gpu-throttled": _clock,
    "gpu-contention": _shared,
    "gpu-memory-full": _full,
}
"""Of each cause: what happened, and how it is; the second with room for the tense."""


def _gpu(spell: Spell) -> str:
    number = spell.gpu.removeprefix("TF ")
    return f"GPU {number}" if number == spell.gpu else f"TensorFlow's GPU:{number}"


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
