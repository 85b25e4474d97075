"""Curves of values that are known only at times: a count between changes, a gauge between readings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..stats.blocks import Floats
from ..stats.series import Curve

#: Nanoseconds for which a measurement is valid.
_HOLD = 2_000_000_000


def held(curve: Curve, count: int, since: int) -> Curve:
    """Fill a running count between its changes: it keeps its value, and is zero before the first.

    It never falls, although threads may report their events out of order.
    """
    values = curve.hi
    known = np.isfinite(values)
    columns = np.arange(len(values))
    last = np.maximum.accumulate(np.where(known, columns, -1))
    before = curve.lo[known][0] - 1 if known.any() else count
    held = np.maximum.accumulate(np.where(last >= 0, values[last], before))
    held[curve.start_ns + (columns + 1) * curve.width_ns <= (since or 2**63)] = np.nan
    return replace(curve, lo=held, mid=held, hi=held)


def filled(curve: Curve, now: int, *, is_count: bool = False) -> Curve:
    """Fill a gauge between its readings; a measurement of seconds ago is unknown by now.

    A count is only sent when it changes.
    """
    columns = np.arange(len(curve.mid))
    last = np.maximum.accumulate(np.where(np.isfinite(curve.mid), columns, -1))
    old = ((columns - last) * curve.width_ns > _HOLD) & (not is_count)
    last[old | (columns * curve.width_ns + curve.start_ns > now)] = -1

    def fill(values: Floats) -> Floats:
        return np.where(last >= 0, values[last], np.nan)

    return replace(curve, lo=fill(curve.lo), mid=fill(curve.mid), hi=fill(curve.hi))
