"""Rows for the GPUs of a view, and the choice of the one that the main screen shows. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ....diagnosis.causes.gpu_contention import OTHERS
from ....diagnosis.causes.gpu_throttled import HEAT
from ....diagnosis.conditions import is_unused
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
    labels = {name.split(".")[1] for name in view.readings if name.startswith("gpu.")}
    return tuple(Gpu(label) for label in sorted(labels, key=order))


def shown_gpu(view: View, before: str = "") -> str:
    """Return the device that the target uses, or else the busiest; prefer the one shown `before`."""
    ranks = {gpu.label: _rank(view.readings, gpu) for gpu in gpus_of(view)}
    if not ranks:
        return before
    best = max(ranks, key=lambda label: (*ranks[label], *(-n for n in order(label))))
    now, then = ranks[best], ranks.get(before)
    return before if then is not None and then[0] == now[0] and now[1] - then[1] < _BUSIER else best


def _rank(readings: Mapping[str, float], gpu: Gpu) -> tuple[int, float]:
    at = f"gpu.{gpu.label}"
    alive, seen = not readings.get(f"{at}.lost"), gpu.visible is not False
    own = readings.get(f"{at}.memory.own", 0.0) > 0
    busy = readings.get(f"{at}.utilisation.own", readings.get(f"{at}.utilisation", 0.0))
    return 4 * alive + 2 * seen + own, busy


def used_of_total(view: View, label: str) -> str:
    readings, at = view.readings, f"gpu.{label}.memory"
    return _used(readings.get(at), readings.get(f"{at}.total"))


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
    known = {name.split(".")[2] for name in view.readings if name.startswith("tf.gpu.")}
    for number in sorted(known - {str(n) for n in matched}, key=order):
        # Which device TensorFlow numbers this way is unknown: its order cannot be seen from outside.
        rows.append(
            MeterRow(f"TF GPU:{number}", _allocator(view.readings, number), f"tf.gpu.{number}.memory")
        )
    return rows


def _numbers(view: View, gpus: Sequence[Gpu]) -> dict[str, int]:
    """Return TensorFlow's number of each device, where it is known."""
    if len(gpus) == 1 and gpus[0].visible is None:
        return {gpus[0].label: 0}
    return {gpu.label: gpu.number for gpu in gpus if gpu.number is not None}


def _roomy(view: View, gpu: Gpu, number: int | None) -> list[MeterRow]:
    readings, at = view.readings, f"gpu.{gpu.label}"
    get = readings.get
    seen = f"TensorFlow's GPU:{number}" if number is not None else ""
    parts = (gpu.name, seen, _hidden(gpu))
    title = MeterRow(f"GPU {gpu.label}", tuple(filter(None, parts)), title=True)
    if get(f"{at}.lost"):
        return [title, MeterRow("lost", (_LOST,), trouble=True)]
    memory = (
        _used(get(f"{at}.memory"), get(f"{at}.memory.total")),
        f"this program {gibibytes(get(f'{at}.memory.own'))}",
        f"others {gibibytes(get(f'{at}.memory.others'))}",
    )
    busy = (
        _number(get(f"{at}.utilisation"), "%"),
        f"this program {_number(get(f'{at}.utilisation.own'), '%')}",
        f"others {_number(get(f'{at}.utilisation.others'), '%')}",
    )
    rows = [
        title,
        MeterRow("memory", memory, f"{at}.memory", get(f"{at}.memory.total")),
        MeterRow("busy", busy, f"{at}.utilisation", 100.0, _contended(readings, at)),
        MeterRow(
            "clock", _clock(readings, at), f"{at}.clock", get(f"{at}.clock.max"), _throttled(readings, at)
        ),
        MeterRow("heat", _heat(readings, at)),
    ]
    if number is not None and gpu.visible is not False:
        # In the scale of the memory row above it: taken and in use can be compared.
        row = MeterRow(
            "TensorFlow",
            _allocator(readings, number, get(f"{at}.memory.own")),
            f"tf.gpu.{number}.memory",
            get(f"{at}.memory.total"),
        )
        rows.insert(2, row)
    return rows


def _dense(view: View, gpu: Gpu, number: int | None, name: str) -> list[MeterRow]:
    readings, at = view.readings, f"gpu.{gpu.label}"
    get = readings.get
    if get(f"{at}.lost"):
        return [MeterRow(f"GPU {gpu.label}", (name, _LOST), trouble=True)]
    taken, (*heat, traffic) = get(f"{at}.memory.others"), _heat(readings, at)
    memory = [
        name,
        _used(get(f"{at}.memory"), get(f"{at}.memory.total")),
        f"own {gibibytes(get(f'{at}.memory.own'))}",
        f"others {gibibytes(taken)}" if taken != 0 else "",
        traffic,
        _hidden(gpu),
    ]
    if number is not None and f"tf.gpu.{number}.memory" in readings:
        memory.append("TF " + ", ".join(_allocator(readings, number)))
    busy = f"busy {_number(get(f'{at}.utilisation'), '%')}"
    others = get(f"{at}.utilisation.others")
    return [
        MeterRow(
            f"GPU {gpu.label}",
            tuple(filter(None, memory)),
            f"{at}.memory",
            get(f"{at}.memory.total"),
            _contended(readings, at) or _throttled(readings, at),
        ),
        MeterRow(
            "",
            (
                *_clock(readings, at),
                busy + (f", others {others:.0f} %" if others else ""),
                *heat,
            ),
            f"{at}.clock",
            get(f"{at}.clock.max"),
        ),
    ]


_LOST = "it has fallen off the bus or was reset; checked again every few seconds"


def _hidden(gpu: Gpu) -> str:
    return "hidden from this program by CUDA_VISIBLE_DEVICES" if gpu.visible is False else ""


def _contended(readings: Mapping[str, float], at: str) -> bool:
    """Return whether others slow the program down: only if it uses the device, too."""
    mine = {
        name.removeprefix(f"{at}."): value for name, value in readings.items() if name.startswith(f"{at}.")
    }
    return mine.get("utilisation.others", 0.0) >= OTHERS and not is_unused(mine)


def _throttled(readings: Mapping[str, float], at: str) -> bool:
    return bool(int(readings.get(f"{at}.throttle", 0)) & HEAT)


def _clock(readings: Mapping[str, float], at: str) -> tuple[str, ...]:
    clock, top, mask = (readings.get(f"{at}.{name}") for name in ("clock", "clock.max", "throttle"))
    text = f"{_number(clock)} of {_number(top)} MHz" if clock is not None else NA
    if mask is None:
        return text, f"throttle reason: {NA}"
    words = throttle_words(int(mask))
    if not words:
        return (text,)
    return text, ("idle" if words == ("idle",) else f"held down by {', '.join(words)}")


def _heat(readings: Mapping[str, float], at: str) -> tuple[str, ...]:
    def get(name: str) -> float | None:
        return readings.get(f"{at}.{name}")

    power = f"{_number(get('power'))} of {_number(get('power.limit'), 'W')}"
    traffic = f"PCIe in {_bytes(get('pcie.rx'))}, out {_bytes(get('pcie.tx'))}"
    return _number(get("temperature"), "°C"), power, traffic


def _allocator(readings: Mapping[str, float], number: object, own: float | None = None) -> tuple[str, ...]:
    used, peak, limit = (readings.get(f"tf.gpu.{number}.{name}") for name in ("memory", "peak", "limit"))
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
