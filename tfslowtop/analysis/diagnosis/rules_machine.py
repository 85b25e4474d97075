"""What the machine does to the program. These say nothing about the code, so they rank behind what does."""

from __future__ import annotations

from .facts import Facts
from .finding import Finding
from .make import finding, size

#: Shorter than this is a visit, not a condition.
LONG_ENOUGH = 10.0
#: The main thread was ready and had no core, percent of the time. Below half it is an ordinary shared machine.
READY = 50.0
#: Periods in which the cgroup's quota ran out, percent; and seconds lost per second.
THROTTLED = 25.0
LOST = 0.2
#: Page faults per second that had to wait for a disk; and how full a limit is.
MAJOR = 50.0
FULL = 0.97
PRESSURE = 20.0
#: NVML's bits for clocks lowered by heat or by the hardware itself: thermal slowdown (0x20, 0x40), hardware
#: slowdown (0x8) and power brake (0x80). A power cap at full load (0x4) is how GPUs are run.
HEAT = 0x20 | 0x40 | 0x8 | 0x80
SLOWED = 0.8
OTHERS = 20.0


def _mean(facts: Facts, name: str) -> float:
    value, seconds = facts.means.get(name, (0.0, 0.0))
    return value if seconds >= LONG_ENOUGH else 0.0


def _made(facts: Facts, cause: str, sentence: str, share: float, **evidence: object) -> list[Finding]:
    made = finding(
        facts,
        cause,
        ("", 0),
        sentence,
        min(share, 1.0) * facts.seconds,
        confidence="medium",
        **evidence,  # type: ignore[arg-type]
    )
    return [made] if made else []


def processor(facts: Facts) -> list[Finding]:
    throttled, lost = _mean(facts, "cgroup.cpu.throttled"), _mean(facts, "cgroup.cpu.waited")
    if throttled >= THROTTLED and lost >= LOST:
        quota = facts.readings.get("cgroup.cpu.quota", 0.0)
        return _made(
            facts,
            "cpu-throttled",
            f"The container's limit of {quota:g} cores was used up in {throttled:.0f} % of its periods.",
            throttled / 100 / 2,
            throttled_percent=throttled,
            lost_seconds_per_second=lost,
            quota=quota,
        )
    wait, others = _mean(facts, "cpu.wait"), _mean(facts, "machine.others")
    if wait >= READY and others >= 50.0 * facts.readings.get("machine.cpus", 1.0):
        return _made(
            facts,
            "cpu-contention",
            f"The program was ready and had no core for {wait:.0f} % of the time; other processes use "
            f"{others / 100:.1f} of {facts.readings.get('machine.cpus', 0):.0f} cores.",
            wait / 100,
            waiting_percent=wait,
            others_percent=others,
        )
    return []


def memory(facts: Facts) -> list[Finding]:
    swapped, major = facts.readings.get("swap", 0.0), _mean(facts, "faults.major")
    used, limit = (
        facts.readings.get("cgroup.memory.working", 0.0),
        facts.readings.get("cgroup.memory.limit", 0.0),
    )
    pressure = _mean(facts, "pressure.memory")
    if major >= MAJOR and swapped > 50e6:
        return _made(
            facts,
            "memory-pressure",
            f"{size(swapped)} are swapped out and {major:.0f} pages per second are read back.",
            min(0.5, major / 1000),
            swap=swapped,
            major_faults=major,
        )
    if limit and used >= FULL * limit and (pressure >= PRESSURE or _mean(facts, "cgroup.memory.hits") > 1):
        return _made(
            facts,
            "memory-pressure",
            f"{size(used)} of the limit of {size(limit)} are in use.",
            max(pressure, 10.0) / 100,
            used=used,
            limit=limit,
        )
    return []


def gpus(facts: Facts) -> list[Finding]:
    found: list[Finding] = []
    names = {name.split(".")[1] for name in facts.readings if name.startswith("gpu.")}
    for n in sorted(names):
        at = f"gpu.{n}"
        clock, top = _mean(facts, f"{at}.clock"), facts.readings.get(f"{at}.clock.max", 0.0)
        busy = _mean(facts, f"{at}.utilisation")
        if (
            int(facts.readings.get(f"{at}.throttle", 0)) & HEAT
            and busy >= 30
            and clock
            and clock < SLOWED * top
        ):
            heat = facts.readings.get(f"{at}.temperature", 0.0)
            found += _made(
                facts,
                "gpu-throttled",
                f"GPU {n} runs at {clock:.0f} of {top:.0f} MHz at {heat:.0f} °C: its clock is held down.",
                1 - clock / top,
                gpu=n,
                clock=clock,
                clock_max=top,
                temperature=heat,
            )
        others = _mean(facts, f"{at}.utilisation.others")
        if others >= OTHERS and busy >= 30:
            found += _made(
                facts,
                "gpu-contention",
                f"Other processes use GPU {n} for {others:.0f} % of the time.",
                others / 100 / 2,
                gpu=n,
                others_percent=others,
            )
        total = facts.readings.get(f"{at}.memory.total", 0.0)
        taken = facts.readings.get(f"{at}.memory.others", 0.0)
        used = facts.readings.get(f"{at}.memory", 0.0)
        # TensorFlow takes nearly all of the memory for itself, so only what others hold says that it is short.
        if total and used >= FULL * total and taken >= 0.3 * total:
            found += _made(
                facts,
                "gpu-memory-full",
                f"{size(used)} of GPU {n}'s {size(total)} are taken, {size(taken)} of them by other processes.",
                0.1,
                gpu=n,
                used=used,
                total=total,
                others=taken,
            )
    return found


RULES = (processor, memory, gpus)
