"""Frames as an agent sends them, spoilt ones, and what must hold of any view: for fuzzing and the soak."""

from __future__ import annotations

import json
import math
import random
import struct

import numpy as np

from tfslowtop.agent.protocol import wire
from tfslowtop.agent.protocol.events import (
    SAMPLE,
    About,
    Block,
    Failed,
    Folded,
    Gauge,
    Lost,
    Note,
    Phase,
    Reason,
    Samples,
    StepChosen,
    Stream,
    Tally,
    Toggled,
    Trace,
)
from tfslowtop.agent.protocol.wire import encode
from tfslowtop.export.numbers import known
from tfslowtop.export.report import report
from tfslowtop.export.summary import summary
from tfslowtop.state.session import Session

SECOND = 1_000_000_000
BORN = 1_000 * SECOND


def frame(kind: type | int, payload: bytes) -> bytes:
    number = kind if isinstance(kind, int) else wire.number_of(kind)
    return struct.pack("!IB", len(payload), number) + payload


def conversation(seed: int = 1) -> list[bytes]:
    """Frames as a real agent sends them, one of each kind and some of the common ones."""
    rng = random.Random(seed)
    packed = b"".join(SAMPLE.pack(BORN + i * SECOND // 50, SECOND // 60, 5) for i in range(40))
    reason = Reason("x", "retrace-shape", "float32 (1,)", "float32 (2,)")
    messages = [
        About("2.19", ("CPU:0",)),
        Phase("running", "", BORN),
        Stream(0, "loop", "loop", "t.py", 3),
        Stream(1, "slow", "data-python-op", "t.py", 9),
        StepChosen(0, "the loop that does the work", BORN),
        Samples(0, 0, packed),
        Samples(1, 0, packed),
        Folded(0, 40, 9, BORN + SECOND, BORN + 2 * SECOND, 1, 9, 50, 40, (1, 5, 9)),
        Trace("f", "t.py", 3, 1, BORN, 50, (reason,), "t.py", 4),
        Gauge("cpu seconds", BORN, 0.5),
        Tally("created", "Dense", "t.py", 3, 5, 50, 5, BORN),
        Toggled(20, ("a",), BORN),
        Block(30, 0, ("a",), BORN),
        Block(35, 1, (), BORN),
        Failed(3, "t.py", 3, "no", "Traceback"),
        Lost(0, 5),
        Note("a hook found no place"),
    ]
    return [encode(m) for m in messages] + [encode(m) for m in rng.sample(messages, 5)]


def mutated(frames: list[bytes], rng: random.Random) -> bytes:
    data = bytearray(b"".join(frames))
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(max(len(data), 1))
        what = rng.randrange(5) if data else 3
        if what == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif what == 1:
            data[at] = rng.choice(b'0-9"[],e.\x00\xff')
        elif what == 2:
            del data[at : at + rng.randrange(1, 9)]
        elif what == 3:
            data[at:at] = rng.choice([b"9" * 40, b"-", b"1e999", b"\\ud800", b"null", bytes(9)])
        else:
            data[at:at] = data[at : at + rng.randrange(1, 300)]
    return bytes(data)


def payload_mutated(whole: bytes, rng: random.Random) -> bytes:
    """Another payload in a frame whose length is right, so that what comes after is read too."""
    payload = mutated([whole[5:]], rng) if len(whole) > 5 else b""
    return frame(whole[4], payload)


def check_numbers(session: Session, now: int) -> None:
    """Everything that is shown can be shown: no infinity, no share above one, no JSON that is none."""
    session.streams.recompute_all()
    view = session.view(now, 40, 0.5)
    text = json.dumps(known(report(["x"], "3", view, session)), allow_nan=False)
    words = text + summary(["x"], view, session, False) + " ".join(p.words for p in view.panels)
    assert "nan" not in words.lower() and "inf " not in words
    for row in view.streams:
        assert math.isnan(row.share) or 0.0 <= row.share <= 1.0
        assert row.calls >= 0 and row.seconds >= 0.0
    assert math.isnan(view.rate) or 0.0 <= view.rate < math.inf
    for panel in view.panels:
        assert not np.isinf([panel.now, panel.median, panel.p95]).any()
        assert not any(np.isinf(part).any() for part in (panel.curve.lo, panel.curve.mid, panel.curve.hi))
