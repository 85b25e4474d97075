"""The machine in one line of meters: CPU, memory, GPU. Pure: a view in, text out."""

from __future__ import annotations

import math

from rich.text import Text

from ....agent.protocol.names import (
    GAUGE_CGROUP_MEMORY_LIMIT,
    GAUGE_MACHINE_CPU,
    GAUGE_MACHINE_CPUS,
    GAUGE_MACHINE_MEMORY,
    GAUGE_RSS,
    GPU_UTILISATION,
    gpu_gauge,
)
from ....state.view import View
from ...format import NOTHING, plain, quantity
from .gpus import gpus_of

#: Cells of a meter, from narrow to wide, and the widths of the line from which they fit.
_CELLS = ((0, 5), (76, 8), (100, 12), (150, 20))
#: The share from which a resource is nearly used up.
_FULL = 0.95


def meter(share: float, cells: int, *, ascii: bool = False) -> str:
    """Return a bar that is filled by a share of 0 to 1; anything above zero shows."""
    filled = min(cells, max(math.ceil(cells * share - 0.5), 1 if share > 0 else 0))
    full, empty = "#." if ascii else "▓░"
    return full * filled + empty * (cells - filled)


def meter_line(view: View, gpu: str, width: int, *, ascii: bool, rest: str = "") -> Text:
    """Return the meters of the machine, and `rest` where there is room for it."""
    cells = [size for least, size in _CELLS if width >= least][-1]
    text = Text(no_wrap=True, overflow="crop")
    for name, share, words in (_cpu(view), _memory(view), _gpu(view, gpu)):
        bar = meter(share, cells, ascii=ascii) if share is not None else ""
        sign = "! " if share is not None and share >= _FULL else ""
        part = f"{name} {bar} {sign}{words}" if bar else f"{name} {words}"
        text.append(("   " if text else "") + (plain(part) if ascii else part), "bold" if sign else "")
    if rest and text.cell_len + len(rest) + 3 <= width:
        text.append("   " + (plain(rest) if ascii else rest))
    return text


def _cpu(view: View) -> tuple[str, float | None, str]:
    used, cores = view.readings.get(GAUGE_MACHINE_CPU), view.readings.get(GAUGE_MACHINE_CPUS)
    if used is None or not cores or not math.isfinite(used):
        return "CPU", None, NOTHING
    share = used / (100 * cores)
    return "CPU", share, f"{100 * share:.0f} %"


def _memory(view: View) -> tuple[str, float | None, str]:
    """Return what the program uses of what it could have: that is how near it is to being killed."""
    used, free = view.readings.get(GAUGE_RSS), view.readings.get(GAUGE_MACHINE_MEMORY)
    if used is None or free is None or not used + free > 0:
        return "RAM", None, NOTHING if used is None else quantity(used, "B")
    limit = view.readings.get(GAUGE_CGROUP_MEMORY_LIMIT)
    whole = min(used + free, limit) if limit else used + free
    return "RAM", min(1.0, used / whole), f"{quantity(used, 'B')} of {quantity(whole, 'B')}"


def _gpu(view: View, label: str) -> tuple[str, float | None, str]:
    busy = view.readings.get(gpu_gauge(label, GPU_UTILISATION))
    if not gpus_of(view) or busy is None or not math.isfinite(busy):
        return "GPU", None, NOTHING
    return "GPU", busy / 100, f"{busy:.0f} %"
