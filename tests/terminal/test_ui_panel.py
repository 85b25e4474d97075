"""The line of a panel: the verdict always, the numbers as there is room, and nothing that comes and goes."""

from __future__ import annotations

import pytest
from screens import text, until


@pytest.mark.parametrize(
    ("size", "said"),
    [
        ((200, 50), ("latency per iteration", "median", "p95", "rising")),
        ((120, 40), ("latency", "median", "p95", "rising")),
        ((80, 24), ("latency", "median", "p95", "rising")),
        ((60, 16), ("latency", "median", "rising")),
    ],
)
async def test_as_much_as_there_is_room_for(play, size, said):
    async def act(pilot, app, script):
        await until(pilot, lambda: "rising" in text(app))
        line = next(line for line in text(app).splitlines() if "latency" in line)
        assert all(word in line for word in said) and "…" not in line
        panel = app.screen.query_one("#panel-latency")
        wide, narrow = (("9.99 ms", f"median {n} ms", f"p95 {n} ms") for n in ("1,234.5", "1.2"))
        panel.write_line(wide, "rising", "rising +1,234 %/100 it")
        shape = panel._fit
        panel.write_line(narrow, "flat", "flat")
        assert panel._fit == shape

    await play(act, size)
