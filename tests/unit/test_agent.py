"""The agent: samples arrive in order and complete, or folded and counted; the watched program never waits."""

from __future__ import annotations

import socket
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfslowtop.agent.boot.import_watch import Watch
from tfslowtop.agent.protocol.channel import MemoryChannel, SocketChannel
from tfslowtop.agent.protocol.events import SAMPLE, Folded, Lost, Note, Samples, SetFixes, Stream, Toggled
from tfslowtop.agent.protocol.wire import Decoder, encode
from tfslowtop.agent.sample_ring import SampleRing
from tfslowtop.agent.sender import Agent


def unpack(packed: bytes) -> list[tuple[int, ...]]:
    return list(SAMPLE.iter_unpack(packed))


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 10)), max_size=30))
def test_a_ring_gives_every_record_once_or_counts_it_as_lost(steps):
    ring, written, read = SampleRing(8), 0, []
    for puts, limit in steps:
        for _ in range(puts):
            ring.put(written, written + 1, written + 2)
            written += 1
        first, packed = ring.drain(ring.head, limit)
        records = unpack(packed)
        assert [r[0] for r in records] == list(range(first, first + len(records)))
        read += records
    assert [r[0] for r in read] == sorted({r[0] for r in read})
    assert len(read) + ring.lost == ring.tail


def test_a_ring_under_a_writing_thread_never_gives_a_torn_record():
    ring, stop, seen = SampleRing(64), threading.Event(), []

    def write() -> None:
        n = 0
        while not stop.is_set():
            ring.put(n, n * 7, n * 13)
            n += 1

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    writer = threading.Thread(target=write)
    writer.start()
    try:
        deadline = time.monotonic() + 1.0
        while time.monotonic() < deadline:
            first, packed = ring.drain(ring.head, 64)
            for offset, (a, b, c) in enumerate(unpack(packed)):
                assert (a, b, c) == (first + offset, 7 * a, 13 * a)
                seen.append(a)
    finally:
        stop.set()
        writer.join()
        sys.setswitchinterval(interval)
    assert seen and len(seen) + ring.lost == ring.tail


def drain(channel: MemoryChannel) -> list:
    events = list(channel.events)
    channel.events.clear()
    return events


def test_an_event_travels_before_the_samples_that_came_after_it():
    channel = MemoryChannel()
    agent = Agent(channel)
    ring = agent.stream("kernel", "kernel", "f.py", 3)
    ring.put(1, 2, 3)
    agent.emit(Toggled(1, ("a",), 5))
    ring.put(4, 5, 6)
    agent.close()
    kinds = [type(e) for e in drain(channel)]
    assert kinds == [Stream, Toggled, Samples]


def test_with_a_full_watcher_samples_are_folded_and_none_is_forgotten():
    channel = MemoryChannel(capacity=2)
    agent = Agent(channel)
    ring = agent.stream("kernel", "kernel", "f.py", 3)
    walls = np.random.default_rng(1).integers(100, 10_000, 5000)
    for n, wall in enumerate(walls):
        ring.put(n * 100, int(wall), 7)
        if n % 500 == 499:
            agent.flush()
    first = drain(channel)
    agent.flush()
    events = first + drain(channel)
    samples = [e for e in events if isinstance(e, Samples)]
    (folded,) = [e for e in events if isinstance(e, Folded)]
    shipped = sum(map(len, samples))
    assert shipped + folded.count == 5000
    assert folded.first == shipped
    rest = walls[shipped:]
    assert (folded.wall_min, folded.wall_max, folded.wall_sum) == (rest.min(), rest.max(), rest.sum())
    assert folded.cpu_sum == 7 * len(rest)
    starts = 100 * np.arange(shipped, 5000)
    assert (folded.start, folded.end) == (starts[0], (starts + rest).max())
    sketch = np.quantile(rest, np.linspace(0, 1, len(folded.sketch)))
    assert np.abs(np.array(folded.sketch) - sketch).max() < 200


def test_what_was_overwritten_is_told():
    channel = MemoryChannel()
    agent = Agent(channel)
    ring = agent.stream("kernel", "kernel", "f.py", 3)
    for n in range(100_000):
        ring.put(n, 1, 1)
    agent.close()
    events = drain(channel)
    (lost,) = [e for e in events if isinstance(e, Lost)]
    assert lost.samples + sum(len(e) for e in events if isinstance(e, Samples)) == 100_000


def test_a_watcher_that_does_not_read_never_blocks_the_program():
    ours, theirs = socket.socketpair()
    agent = Agent(SocketChannel(ours))
    agent.start()
    ring = agent.stream("kernel", "kernel", "f.py", 3)
    longest, written = 0.0, 0
    deadline = time.monotonic() + 1.5
    while time.monotonic() < deadline:
        start = time.monotonic()
        for _ in range(1000):
            ring.put(1, 2, 3)
            agent.emit(Note("busy")) if written % 5000 == 0 else None
            written += 1
        longest = max(longest, time.monotonic() - start)
    assert longest < 20.0  # a blocked send would have stayed for good; a busy machine takes a second
    decoder, count = Decoder(), 0
    threading.Thread(target=agent.close).start()
    while data := theirs.recv(1 << 20):
        for event in decoder.feed(data):
            if isinstance(event, Samples):
                count += len(event)
            elif isinstance(event, Folded):
                count += event.count
    assert 0 < count <= written


def test_a_dead_watcher_is_noticed_and_harmless():
    ours, theirs = socket.socketpair()
    agent = Agent(SocketChannel(ours))
    agent.start()
    theirs.close()
    ring = agent.stream("kernel", "kernel", "f.py", 3)
    for _ in range(10):
        ring.put(1, 2, 3)
        time.sleep(0.02)
    assert not agent.channel.alive
    agent.close()


def test_a_watcher_that_talks_garbage_is_hung_up_on():
    ours, theirs = socket.socketpair()
    channel = SocketChannel(ours)
    theirs.send(b"GET / HTTP/1.1\r\n\r\n")
    assert channel.received() == []
    assert not channel.alive


def test_commands_reach_the_program():
    ours, theirs = socket.socketpair()
    received = []
    agent = Agent(SocketChannel(ours), on_command=received.append)
    agent.start()
    theirs.send(encode(SetFixes(("a", "b"))))
    deadline = time.monotonic() + 60
    while not received and time.monotonic() < deadline:
        time.sleep(0.01)
    agent.close()
    assert received == [SetFixes(("a", "b"))]


def test_the_sender_rests_when_asked_and_goes_on_where_it_was():
    channel = MemoryChannel()
    agent = Agent(channel, period=60)
    ring = agent.stream("kernel", "kernel", "f.py", 3)
    for n in range(3):
        ring.put(n, 1, 1)
        agent.start()
        assert agent.rest() and not agent.rest()
    agent.close()
    assert [r[0] for e in drain(channel) if isinstance(e, Samples) for r in unpack(e.packed)] == [0, 1, 2]


def test_the_agents_own_errors_are_swallowed_and_told():
    channel = MemoryChannel()

    def obey(command: object) -> None:
        raise RuntimeError("oh")

    agent = Agent(channel, on_command=obey)
    agent.start()
    channel.commands.put(SetFixes(()))
    deadline = time.monotonic() + 60
    while not agent.errors and time.monotonic() < deadline:
        time.sleep(0.01)
    agent.close()
    assert any(isinstance(e, Note) and "oh" in e.text for e in drain(channel))


def test_an_import_is_announced_before_and_after(tmp_path, monkeypatch):
    (tmp_path / "quite_new.py").write_text("value = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    watch, seen = Watch(), []
    watch.on_import("quite_new", before=lambda: seen.append("before"), after=lambda: seen.append("after"))
    import quite_new

    assert seen == ["before", "after"]
    assert type(quite_new.__loader__).__name__ == "SourceFileLoader"
    watch.on_import("quite_new", after=lambda: seen.append("there"))
    assert seen[-1] == "there"
    watch.remove()
    assert watch not in sys.meta_path


def test_a_module_that_is_looked_for_or_fails_is_still_waited_for(tmp_path, monkeypatch):
    import importlib.util

    (tmp_path / "fails_once.py").write_text(
        "import sys\nif not hasattr(sys, 'mended'): raise ImportError('no')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    watch, seen = Watch(), []
    watch.on_import("fails_once", before=lambda: seen.append("before"), after=lambda: seen.append("after"))
    spec = importlib.util.find_spec("fails_once")
    assert spec.loader.get_filename("fails_once") == spec.origin == str(tmp_path / "fails_once.py")
    assert seen == []
    with pytest.raises(ImportError):
        import fails_once
    assert seen == ["before"]
    monkeypatch.setattr(sys, "mended", True, raising=False)
    import fails_once

    assert seen == ["before", "before", "after"]
    assert type(fails_once.__spec__.loader).__name__ == "SourceFileLoader"
    watch.remove()
