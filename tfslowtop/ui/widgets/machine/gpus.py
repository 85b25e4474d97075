"""Rows for the GPUs of a view, and the choice of the one that the main screen shows. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....agent.protocol.names import (
    GPU_CLOCK,
    GPU_CLOCK_MAX,
    GPU_LOST,
    GPU_MEMORY,
    GPU_MEMORY_OTHERS,
    GPU_MEMORY_OWN,
    GPU_MEMORY_TOTAL,
    GPU_PCIE_RX,
    GPU_PCIE_TX,
    GPU_POWER,
    GPU_POWER_LIMIT,
    GPU_PREFIX,
    GPU_TEMPERATURE,
    GPU_THROTTLE,
    GPU_UTILISATION,
    GPU_UTILISATION_OTHERS,
    GPU_UTILISATION_OWN,
    TF_GPU_PREFIX,
    GaugeName,
    gpu_gauge,
    tf_gpu_gauge,
)
from ....diagnosis.causes.gpu_contention import OTHERS
from ....diagnosis.causes.gpu_throttled import HEAT
from ....diagnosis.conditions import Readings, is_unused
from ....sensors.nvml import throttle_words
from ....state.view import Gpu, View
from ...format import gibibytes, quantity
from .meter_rows import NA, MeterRow

#: With more devices than this, each gets two lines only.
_ROOMY = 2
#: Percent by which another device must be busier before the main screen switches to it: no flicker.
_BUSIER = 25.0


def order(label: str) -> tuple[int, ...]:
    """Sort ten after nine, and a slice (0:1) after its device."""
    return tuple(int(part) if part.isdigit() else 0 for part in label.split(":"))


def gpus_of(view: View) -> tuple[Gpu, ...]:
    """Return the devices; for a run that only has readings, those that the readings name."""
    if view.no_gpu:
        return ()
    if view.gpus:
        return view.gpus
    labels = {name.split(".")[1] for name in view.readings if name.startswith(GPU_PREFIX)}
    return tuple(Gpu(label) for label in sorted(labels, key=order))


def shown_gpu(view: View, before: str = "") -> str:
    """Return the device that the target uses, or else the busiest; prefer the one shown `before`."""
    ranks = {gpu.label: _rank(view.readings, gpu) for gpu in gpus_of(view)}
    if not ranks:
        return before
    best = max(ranks, key=lambda label: (*ranks[label], *(-n for n in order(label))))
    now, then = ranks[best], ranks.get(before)
    return before if then is not None and then[0] == now[0] and now[1] - then[1] < _BUSIER else best


def _rank(readings: Readings, gpu: Gpu) -> tuple[int, float]:
    label = gpu.label
    alive, seen = not readings.get(gpu_gauge(label, GPU_LOST)), gpu.visible is not False
    own = readings.get(gpu_gauge(label, GPU_MEMORY_OWN), 0.0) > 0
    whole = readings.get(gpu_gauge(label, GPU_UTILISATION), 0.0)
    busy = readings.get(gpu_gauge(label, GPU_UTILISATION_OWN), whole)
    return 4 * alive + 2 * seen + own, busy


def used_of_total(view: View, label: str) -> str:
    readings = view.readings
    return _used(readings.get(gpu_gauge(label, GPU_MEMORY)), readings.get(gpu_gauge(label, GPU_MEMORY_TOTAL)))


def gpu_rows(view: View) -> list[MeterRow]:
    gpus = gpus_of(view)
    if not gpus:
        return [MeterRow("GPU", (view.no_gpu or "looking for one …",))]
    numbers = _numbers(view, gpus)
    names = {gpu.name for gpu in gpus}
    rows: list[MeterRow] = []
    if len(gpus) > _ROOMY:
        what = names.pop() if len(names) == 1 else "GPUs"
        rows.append(MeterRow(f"{len(gpus)} ×", (what or "GPUs",), title=True))
        for gpu in gpus:
            rows += _dense(view, gpu, numbers.get(gpu.label), gpu.name if names else "")
    else:
        for gpu in gpus:
            rows += _roomy(view, gpu, numbers.get(gpu.label))
    matched = set(numbers.values())
    known = {name.split(".")[2] for name in view.readings if name.startswith(TF_GPU_PREFIX)}
    for number in sorted(known - {str(n) for n in matched}, key=order):
        # Which device TensorFlow numbers this way is unknown: its order cannot be seen from outside.
        rows.append(
            MeterRow(f"TF GPU:{number}", _allocator(view.readings, number), tf_gpu_gauge(number, "memory"))
        )
    return rows


def _numbers(view: View, gpus: Sequence[Gpu]) -> dict[str, int]:
    """Return TensorFlow's number of each device, where it is known."""
    if len(gpus) == 1 and gpus[0].visible is None:
        return {gpus[0].label: 0}
    return {gpu.label: gpu.number for gpu in gpus if gpu.number is not None}


def _roomy(view: View, gpu: Gpu, number: int | None) -> list[MeterRow]:
    readings, label = view.readings, gpu.label
    get = readings.get
    seen = f"TensorFlow's GPU:{number}" if number is not None else ""
    parts = (gpu.name, seen, _hidden(gpu))
    title = MeterRow(f"GPU {label}", tuple(filter(None, parts)), title=True)
    if get(gpu_gauge(label, GPU_LOST)):
        return [title, MeterRow("lost", (_LOST,), trouble=True)]
    memory = (
        _used(get(gpu_gauge(label, GPU_MEMORY)), get(gpu_gauge(label, GPU_MEMORY_TOTAL))),
        f"this program {gibibytes(get(gpu_gauge(label, GPU_MEMORY_OWN)))}",
        f"others {gibibytes(get(gpu_gauge(label, GPU_MEMORY_OTHERS)))}",
    )
    busy = (
        _number(get(gpu_gauge(label, GPU_UTILISATION)), "%"),
        f"this program {_number(get(gpu_gauge(label, GPU_UTILISATION_OWN)), '%')}",
        f"others {_number(get(gpu_gauge(label, GPU_UTILISATION_OTHERS)), '%')}",
    )
    rows = [
        title,
        MeterRow("memory", memory, gpu_gauge(label, GPU_MEMORY), get(gpu_gauge(label, GPU_MEMORY_TOTAL))),
        MeterRow("busy", busy, gpu_gauge(label, GPU_UTILISATION), 100.0, _contended(readings, label)),
        MeterRow(
            "clock",
            _clock(readings, label),
            gpu_gauge(label, GPU_CLOCK),
            get(gpu_gauge(label, GPU_CLOCK_MAX)),
            _throttled(readings, label),
        ),
        MeterRow("heat", _heat(readings, label)),
    ]
    if number is not None and gpu.visible is not False:
        # In the scale of the memory row above it: taken and in use can be compared.
        row = MeterRow(
            "TensorFlow",
            _allocator(readings, number, get(gpu_gauge(label, GPU_MEMORY_OWN))),
            tf_gpu_gauge(number, "memory"),
            get(gpu_gauge(label, GPU_MEMORY_TOTAL)),
        )
        rows.insert(2, row)
    return rows


def _dense(view: View, gpu: Gpu, number: int | None, name: str) -> list[MeterRow]:
    readings, label = view.readings, gpu.label
    get = readings.get
    if get(gpu_gauge(label, GPU_LOST)):
        return [MeterRow(f"GPU {label}", (name, _LOST), trouble=True)]
    taken, (*heat, traffic) = get(gpu_gauge(label, GPU_MEMORY_OTHERS)), _heat(readings, label)
    memory = [
        name,
        _used(get(gpu_gauge(label, GPU_MEMORY)), get(gpu_gauge(label, GPU_MEMORY_TOTAL))),
        f"own {gibibytes(get(gpu_gauge(label, GPU_MEMORY_OWN)))}",
        f"others {gibibytes(taken)}" if taken != 0 else "",
        traffic,
        _hidden(gpu),
    ]
    if number is not None and tf_gpu_gauge(number, "memory") in readings:
        memory.append("TF " + ", ".join(_allocator(readings, number)))
    busy = f"busy {_number(get(gpu_gauge(label, GPU_UTILISATION)), '%')}"
    others = get(gpu_gauge(label, GPU_UTILISATION_OTHERS))
    return [
        MeterRow(
            f"GPU {label}",
            tuple(filter(None, memory)),
            gpu_gauge(label, GPU_MEMORY),
            get(gpu_gauge(label, GPU_MEMORY_TOTAL)),
            _contended(readings, label) or _throttled(readings, label),
        ),
        MeterRow(
            "",
            (
                *_clock(readings, label),
                busy + (f", others {others:.0f} %" if others else ""),
                *heat,
            ),
            gpu_gauge(label, GPU_CLOCK),
            get(gpu_gauge(label, GPU_CLOCK_MAX)),
        ),
    ]


_LOST = "it has fallen off the bus or was reset; checked again every few seconds"


def _hidden(gpu: Gpu) -> str:
    return "hidden from this program by CUDA_VISIBLE_DEVICES" if gpu.visible is False else ""


def _contended(readings: Readings, label: str) -> bool:
    """Return whether others slow the program down: only if it uses the device, too."""
    prefix = gpu_gauge(label, GaugeName(""))
    mine = {
        GaugeName(name.removeprefix(prefix)): value
        for name, value in readings.items()
        if name.startswith(prefix)
    }
    return mine.get(GPU_UTILISATION_OTHERS, 0.0) >= OTHERS and not is_unused(mine)


def _throttled(readings: Readings, label: str) -> bool:
    return bool(int(readings.get(gpu_gauge(label, GPU_THROTTLE), 0)) & HEAT)


def _clock(readings: Readings, label: str) -> tuple[str, ...]:
    clock, top, mask = (
        readings.get(gpu_gauge(label, name)) for name in (GPU_CLOCK, GPU_CLOCK_MAX, GPU_THROTTLE)
    )
    text = f"{_number(clock)} of {_number(top)} MHz" if clock is not None else NA
    if mask is None:
        return text, f"throttle reason: {NA}"
    words = throttle_words(int(mask))
    if not words:
        return (text,)
    return text, ("idle" if words == ("idle",) else f"held down by {', '.join(words)}")


def _heat(readings: Readings, label: str) -> tuple[str, ...]:
    def get(quantity: GaugeName) -> float | None:
        return readings.get(gpu_gauge(label, quantity))

    power = f"{_number(get(GPU_POWER))} of {_number(get(GPU_POWER_LIMIT), 'W')}"
    traffic = f"PCIe in {_bytes(get(GPU_PCIE_RX))}, out {_bytes(get(GPU_PCIE_TX))}"
    return _number(get(GPU_TEMPERATURE), "°C"), power, traffic


def _allocator(readings: Readings, number: int | str, own: float | None = None) -> tuple[str, ...]:
    used, peak, limit = (readings.get(tf_gpu_gauge(number, name)) for name in ("memory", "peak", "limit"))
    if used is None:
        return (NA,)
    taken = f" of a limit of {gibibytes(limit)}" if limit else f" of {gibibytes(own)} taken" if own else ""
    return f"{gibibytes(used)} in use{taken}", f"peak {gibibytes(peak)}"


def _used(used: float | None, total: float | None) -> str:
    share = f" ({100 * used / total:.0f} %)" if used is not None and total else ""
    return f"{gibibytes(used, unit=False)} / {gibibytes(total)}{share}"


def _number(value: float | None, unit: str = "") -> str:
    if value is None or not math.isfinite(value):
        return NA
    return f"{value:,.0f} {unit}".rstrip()


def _bytes(value: float | None) -> str:
    return NA if value is None else f"{quantity(value, 'B')}/s"
