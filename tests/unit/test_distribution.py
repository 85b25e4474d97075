"""How a quantity is spread, and how that is drawn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from ui_source import Script

from tfslowtop.agent.protocol.events import SetFixes
from tfslowtop.state.session import Session
from tfslowtop.stats.spread import Spread
from tfslowtop.ui.widgets.charts.histogram import Histogram, _ticks


def fed(script: Script, session: Session | None = None) -> Session:
    session = session or Session()
    session.feed(script.events(0))
    return session


def spread_of(session: Session, script: Script, name: str) -> Spread | None:
    panel = session.view(script.now, 10, 1.0).panel(name)
    assert panel is not None
    return panel.spread


def test_a_running_count_has_none():
    script = Script(5)
    assert spread_of(fed(script), script, "retraces") is None


def test_latency_is_of_what_came_since_the_toggle():
    script = Script(5)
    session = fed(script)
    spread = spread_of(session, script, "latency")
    assert spread is not None and spread.count == 100
    histogram = spread.histogram(8)
    assert len(histogram.counts) <= 8 and histogram.counts.sum() == 100
    p50, p95, p99 = spread.quantiles((0.5, 0.95, 0.99))
    assert 0.009 < p50 <= p95 <= p99 < 0.016
    script.send(SetFixes(("keep_list",)))
    fed(script, session)
    after = spread_of(session, script, "latency")
    assert after is not None and after.quantile(0.99) < 0.005
    assert spread.count == 100 and spread.quantile(0.5) == p50, "what a view carries stands still"


def test_a_gauge():
    script = Script(5)
    spread = spread_of(fed(script), script, "rss")
    assert spread is not None and spread.count == 5


def drawn(values: list[float]) -> list[str]:
    widget = Histogram()
    widget.show(Spread.of(np.array(values)), "s", 0.0)
    lines = widget.draw_lines(67, 9)
    return ["".join(text for text, _ in line) for line in lines]


def test_the_tail_of_a_wide_distribution_is_in_sight(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Histogram, "columns", property(lambda self: 60))
    lines = drawn([1.2e-3] * 5 + [4e-3] * 100 + [0.01] * 20 + [0.1] * 5 + [0.3, 0.9])
    assert all(len(line) == 67 for line in lines)
    assert "p50" in lines[0] and "p95" in lines[0] and "p99" in lines[0]
    assert lines[0].index("p50") < lines[0].index("p95") < lines[0].index("p99")
    assert any(c in lines[-3].rstrip()[-3:] for c in "▁│┼"), "the slowest are one eighth high at least"
    assert "10.0 ms" in lines[-1] and "100 ms" in lines[-1]


@pytest.mark.parametrize(
    ("low", "high", "most"),
    [(0.0036, 0.0044, 4), (1e-6, 10.0, 5), (0.9, 1.1, 3), (1e-3, 1.2e-3, 2), (1e-9, 1e9, 3)],
)
def test_ticks_are_few_and_inside(low: float, high: float, most: int):
    ticks = _ticks(math.log(low), math.log(high), most)
    assert 1 <= len(ticks) <= most + 1
    assert all(math.log(low) - 1e-9 <= tick <= math.log(high) + 1e-9 for tick in ticks)
