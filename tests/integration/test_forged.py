"""A program that speaks in its agent's place: it is believed within bounds, and cannot end the watching."""

from __future__ import annotations

import json
import os
import random
import socket
import sys

import pytest
from fuzzing import BORN, SECOND, check_numbers, conversation, frame, mutated, payload_mutated
from hypothesis import given, settings
from hypothesis import strategies as st
from launching import collect, text_of

from tfslowtop.agent.protocol.events import SAMPLE, Ended, Gauge, Hello, Lost, Note, Output, Samples
from tfslowtop.agent.protocol.wire import PROTOCOL, encode
from tfslowtop.run import join_samples
from tfslowtop.sources.listener import Connection
from tfslowtop.sources.script import ScriptSource
from tfslowtop.state.session import Session

TOKEN = "0123456789abcdef"
HELLO = encode(Hello(PROTOCOL, TOKEN, 1, "3"))


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    theirs.settimeout(10)
    yield Connection(ours, TOKEN), theirs
    ours.close()
    theirs.close()


def hear(data: bytes) -> tuple[Connection, list]:
    """What a connection makes of some bytes, after a good greeting."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        connection = Connection(ours, TOKEN)
        theirs.sendall(HELLO + data)
        return connection, connection.receive() or []


@pytest.mark.parametrize(
    "greeting",
    [
        frame(Hello, json.dumps([PROTOCOL, "\ud800", 1, "3"]).encode()),
        frame(Hello, json.dumps([PROTOCOL, "é" * 20, 1, "3"]).encode()),
        frame(Hello, json.dumps([2**70, TOKEN, 1, "3"]).encode()),
        encode(Hello(PROTOCOL, "wrong", 1, "3")),
        encode(Hello(99, TOKEN, 1, "3")),
        encode(Note("no greeting")),
        b"\xff" * 50,
    ],
)
def test_a_bad_greeting_is_refused_in_one_sentence(pair, greeting):
    connection, theirs = pair
    theirs.sendall(greeting)
    assert connection.receive() == []
    assert connection.hello is None and connection.fault.endswith(".")


@pytest.mark.parametrize("said", [Ended(0, "bye", BORN), Output("I never wrote this")])
def test_an_agent_cannot_say_what_is_the_keepers(said):
    connection, events = hear(encode(Note("before")) + encode(said))
    assert events[1:] == [Note("before")]
    assert type(said).__name__ in connection.fault


def test_impossible_times_are_refused():
    for figures in ((2**62, 0, 0), (0, 2**63 - 1, 0), (0, -(2**63), 0)):
        connection, events = hear(encode(Samples(0, 0, SAMPLE.pack(*figures))))
        assert len(events) == 1 and "impossible time" in connection.fault


def test_a_flood_is_left_out_and_said_so(pair):
    connection, theirs = pair
    flood, events = HELLO + encode(Gauge("g", 1, 1.0)) * 100_000, []
    theirs.setblocking(False)
    while flood:
        try:
            flood = flood[theirs.send(flood) :]
        except BlockingIOError:
            events += connection.receive()
    while more := connection.receive():
        events += more
    assert 20_000 <= len(events) < 90_000
    assert sum(isinstance(event, Note) for event in events) == 1 and not connection.fault


def digest(data: bytes) -> None:
    """All the way: bytes, events, figures."""
    _, events = hear(data)
    session = Session()
    session.feed(join_samples(events))
    check_numbers(session, BORN + 10 * SECOND)


@pytest.mark.filterwarnings("error")
@settings(deadline=None, max_examples=120)
@given(st.integers(0, 2**32))
def test_mutated_conversations_are_taken_or_refused(seed):
    rng = random.Random(seed)
    frames = conversation(seed)
    if seed % 2:
        digest(mutated(frames, rng))
    else:
        picked = rng.randrange(len(frames))
        digest(b"".join(payload_mutated(f, rng) if i == picked else f for i, f in enumerate(frames)))


FORGER = """
import os, socket, stat, sys, time
import numpy
time.sleep(0.3)  # the agent has said who it is
sockets = []
for fd in map(int, os.listdir("/proc/self/fd")):
    if fd > 2 and os.path.exists(f"/proc/self/fd/{fd}") and stat.S_ISSOCK(os.fstat(fd).st_mode):
        sockets.append(socket.socket(fileno=os.dup(fd)))
(channel,) = sockets
channel.setblocking(True)
channel.sendall(bytes.fromhex(sys.argv[1]))
print("still here", flush=True)
for _ in range(30):
    time.sleep(0.01)
print("at the end", flush=True)
raise SystemExit(7)
"""


@pytest.mark.parametrize("kept", [False, True], ids=["direct", "kept"])
@pytest.mark.parametrize(
    "forged",
    [
        encode(Ended(0, "bye", 5)),
        frame(Note, b'["\\ud800"]'),
        frame(Lost, b"[0, " + b"9" * 40 + b"]"),
        b"\xff" * 64,
    ],
    ids=["ended", "surrogate", "huge", "garbage"],
)
def test_forged_frames_do_not_end_the_watching(tmp_path, forged, kept, capfd):
    script = tmp_path / "forger.py"
    script.write_text(FORGER)
    source = ScriptSource([str(script), forged.hex()], headless=not kept, python=sys.executable)
    try:
        source.start()
        events = collect(source)
    finally:
        source.close()
    assert events[-1].code == 7, events[-5:]
    written = text_of(events) if kept else capfd.readouterr().out
    assert "at the end" in written
    assert len([e for e in events if isinstance(e, Note) and "sent" in e.text]) == 1


def test_a_silent_stranger_does_not_keep_the_agent_out(tmp_path):
    script = tmp_path / "late.py"
    script.write_text("import sys; sys.stdin.readline(); import numpy, time; time.sleep(0.5)")
    read, write = os.pipe()
    source = ScriptSource([str(script)], headless=True, stdin=read)
    strangers = []
    try:
        source.start()
        address = source._run._listener.address
        for _ in range(3):
            stranger = socket.socket(socket.AF_UNIX)
            stranger.connect(address)
            strangers.append(stranger)
            source.events(0.2)
        os.write(write, b"\n")
        events = collect(source)
    finally:
        source.close()
        for stranger in strangers:
            stranger.close()
        os.close(write)
    assert any(isinstance(event, Hello) for event in events)
