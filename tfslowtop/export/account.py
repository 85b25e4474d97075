"""Where the time went, as text and as JSON."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from ..diagnosis.make import ms
from ..state.account import AccountRow, AccountView
from ..state.activities import NAMES
from .wording import counted

#: Activities below this share of the time are summed up as "other", and lines below it are not printed.
_LEAST = 0.01
#: Lines that are printed.
_MOST_LINES = 5


def shares_in_words(account: AccountView) -> str:
    """Return the shares of the activities in one line, largest first."""
    ranked = sorted(account.shares, key=lambda share: -share[1])
    words = [f"{NAMES[activity]} {100 * share:.0f} %" for activity, share in ranked if share >= _LEAST]
    rest = sum(share for _, share in ranked if share < _LEAST)
    if rest >= _LEAST:
        words.append(f"other {100 * rest:.0f} %")
    return " · ".join(words)


def describe_account(account: AccountView) -> list[str]:
    """Return where the time went and the heaviest lines; nothing if that is not known."""
    if not account.seconds:
        return []
    lines = [f"  where {account.seconds:.1f} s went: {shares_in_words(account)}"]
    for row in [row for row in account.rows if row.file and row.share >= _LEAST][:_MOST_LINES]:
        place = f"{Path(row.file).name}:{row.line}"
        per_step = f", {ms(account.per_step(row.seconds))} per step" if account.steps else ""
        calls = f", {counted(row.calls, 'call')}" if row.calls else ""
        lines.append(f"    {100 * row.share:3.0f} %  {place}  {NAMES[row.activity]}{per_step}{calls}")
    return lines


def account_as_json(account: AccountView) -> list[dict[str, Any]]:
    """Return the entries of `account`, most expensive first. Times are in seconds."""
    return [_entry(row) for row in account.rows]


def _entry(row: AccountRow) -> dict[str, Any]:
    return {
        "activity": row.activity,
        "file": row.file or None,
        "line": row.line or None,
        "seconds": row.seconds,
        "share": row.share,
        "calls": row.calls or None,
        "growth": None if math.isnan(row.growth) else row.growth,
    }
