"""How much of the time goes to Python ops and to waiting for data."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tfslowtop.agent.protocol.events import SAMPLE, Folded, Phase, Samples, StepChosen, Stream, Tally
from tfslowtop.state.session import Session
from tfslowtop.state.shares import Share

SECOND = 1_000_000_000
BEGIN = 1_000 * SECOND


def calls(start: list[float], wall: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """In seconds since the beginning."""
    return BEGIN + (np.array(start) * SECOND).astype(np.int64), (np.array(wall) * SECOND).astype(np.int64)


def curve(share: Share, seconds: float, width: float = 0.5, columns: int = 8) -> list[float]:
    now = BEGIN + int(seconds * SECOND)
    step = int(width * SECOND)
    end = (now // step + 1) * step
    return share.curve(end - (columns - 1) * step, end, columns, now).mid.tolist()


def test_a_call_counts_for_the_time_in_which_it_ran():
    share = Share()
    share.add(*calls([0.0, 0.1, 1.0], [0.05, 0.2, 1.0]))
    assert curve(share, 3.9)[:7] == pytest.approx([50, 0, 100, 100, 0, 0, 0])
    assert math.isnan(curve(share, 3.9)[7]), "what is not over is not known"


def test_wider_and_narrower_columns_tell_the_same():
    share = Share()
    share.add(*calls([0.0, 0.5], [0.5, 0.1]))
    assert curve(share, 4.9, 1.0)[3] == pytest.approx(60), "of the second in which both were"
    assert curve(share, 1.9, 0.25)[:4] == pytest.approx([100, 100, 20, 20])


def test_threads_add_up_and_folded_calls_are_spread_evenly():
    share = Share()
    share.add(*calls([0.0, 0.0], [1.0, 1.0]))
    share.add_folded(BEGIN + SECOND, BEGIN + 2 * SECOND, SECOND // 4)
    assert curve(share, 3.9)[:4] == pytest.approx([200, 200, 25, 25])
    assert share.recent(BEGIN + 33 * SECOND // 10) == pytest.approx((200 + 200 + 25 + 25) / 6)


def test_the_ring_forgets_and_goes_on():
    share = Share()
    share.add(*calls([0.0], [0.5]))
    day = 24 * 3600.0
    share.add(*calls([day, day + 0.5], [0.25, 0.1]))
    share.add(*calls([1.0], [0.4]))  # too late to count
    assert curve(share, day + 3.9)[:4] == pytest.approx([50, 20, 0, 0])


def fed(kind: str, wall: float, *, folded: bool = False) -> Session:
    """Ten seconds of a step of 100 ms, in each of which there is a call of that kind."""
    session = Session()
    starts = BEGIN + np.arange(100) * (SECOND // 10)
    packed = [b"".join(SAMPLE.pack(int(s), int(w * SECOND), 0) for s in starts) for w in (0.09, wall)]
    inner = Samples(2, 0, packed[1])
    if folded:
        total = int(100 * wall * SECOND)
        inner = Folded(2, 0, 100, BEGIN, BEGIN + 10 * SECOND, 0, 0, total, 0, (total // 100,))
    session.feed(
        [
            Phase("running", "", BEGIN),
            Stream(1, "train", "function", "a.py", 3),
            Stream(2, "load", kind, "a.py", 9),
            StepChosen(1, "", BEGIN),
            Samples(1, 0, packed[0]),
            inner,
        ]
    )
    return session


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize(
    ("kind", "name"), [("data-wait", "waiting for data"), ("data-library-python-op", "Python ops")]
)
def test_a_script_that_has_them_has_a_panel(kind: str, name: str, folded: bool):
    view = fed(kind, 0.03, folded=folded).view(BEGIN + 10 * SECOND, 20, 0.5)
    panel = view.panel(name)
    assert panel is not None and panel.unit == "%"
    assert panel.now == pytest.approx(30, rel=0.02) and panel.median == pytest.approx(30, rel=0.02)
    assert panel.words == "30 ms per step"


def test_what_does_not_matter_has_none():
    names = {panel.name for panel in fed("data-wait", 0.0001).view(BEGIN + 10 * SECOND, 20, 0.5).panels}
    assert names == {"latency", "retraces"}
    assert not {"Python ops", "waiting for data"} & {p.name for p in Session().view(BEGIN, 20, 0.5).panels}


def test_tensors_that_pile_up_have_a_panel_that_holds_its_level():
    session = fed("function", 0.03)
    session.feed([Tally("kept-tensor", "history|list", "a.py", 5, 300, 0, 1 << 20, BEGIN)])
    for second in range(10, 16):
        view = session.view(BEGIN + second * SECOND, 20, 0.5)
    panel = view.panel("tensors kept")
    assert panel is not None and panel.unit == "" and panel.now == 300
    assert panel.curve.mid[-8:].tolist() == [300.0] * 8
