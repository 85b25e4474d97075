"""What `soak.py` watches: programs that are large, long, or broken. The first argument says which."""

from __future__ import annotations

import os
import random
import signal
import socket
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SECOND = 1_000_000_000


# Programs with a real agent: they import NumPy, and are watched like anybody's script.


def samples(count: int, rate: int) -> None:
    """So many samples of one step, straight into the agent's buffer: no loop in Python is that fast."""
    import numpy  # noqa: F401

    import tfslowtop

    with tfslowtop.step():
        pass
    put = tfslowtop._marker._loop.buffer.put
    rng, done, began = random.Random(1), 0, time.monotonic()
    walls = [rng.randrange(500, 1500) for _ in range(4096)]
    while done < count:
        now, records = time.perf_counter_ns(), []
        for wall in walls:
            records += (now, wall, wall)
            now += wall
        put(records)
        done += len(walls)
        time.sleep(max(0.0, began + done / rate - time.monotonic()))


def steps(seconds: float) -> None:
    """Steps that overlap in threads."""
    import numpy  # noqa: F401

    import tfslowtop

    def work(seed: int) -> None:
        rng, end = random.Random(seed), time.monotonic() + seconds
        while time.monotonic() < end:
            with tfslowtop.step():
                time.sleep(rng.choice((0.0, 0.001, 0.3)) * rng.random())

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def prints(seconds: float) -> None:
    import numpy  # noqa: F401

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        print("x" * 200 + "\x1b]0;title\x07", flush=True)


def closes(seconds: float) -> None:
    """Closes descriptors that are not its own, and opens others in their place."""
    import numpy  # noqa: F401

    time.sleep(seconds / 2)
    os.closerange(3, 1 << 16)
    pairs = [socket.socketpair() for _ in range(20)]
    time.sleep(seconds / 2)
    for pair in pairs:
        for end in pair:
            end.close()


def forks(seconds: float) -> None:
    import numpy  # noqa: F401

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if os.fork() == 0:
            os._exit(0)
        os.wait()
        time.sleep(0.02)


def dies(seconds: float) -> None:
    import numpy  # noqa: F401

    time.sleep(seconds * random.random())
    os.kill(os.getpid(), random.choice((signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM)))


def fails(seconds: float) -> None:
    import numpy  # noqa: F401

    time.sleep(seconds * random.random())
    raise ValueError("\ud800 \x1b[31m" + "x" * 10_000)


# Programs that speak in an agent's place, with its token.


def greet(address: str, token: str) -> socket.socket:
    sys.path[:0] = [str(HERE.parent), str(HERE.parent / "tests" / "helpers")]
    from tfslowtop.agent.protocol.events import Hello
    from tfslowtop.agent.protocol.wire import PROTOCOL, encode

    sock = socket.socket(socket.AF_UNIX)
    sock.connect(address)
    sock.sendall(encode(Hello(PROTOCOL, token, os.getpid(), "3")))
    return sock


def streams(address: str, token: str, count: int, seconds: float) -> None:
    """So many streams with a few calls each; then more calls of any of them."""
    sock = greet(address, token)
    from tfslowtop.agent.protocol.events import SAMPLE, Phase, Samples, Stream
    from tfslowtop.agent.protocol.wire import encode

    def calls(number: int, first: int) -> bytes:
        wall = rng.randrange(10_000, 1_000_000)
        now = time.perf_counter_ns()
        return encode(
            Samples(number, first, b"".join(SAMPLE.pack(now - k * wall, wall, 0) for k in range(3)))
        )

    rng, end = random.Random(1), time.monotonic() + seconds
    sock.sendall(encode(Phase("running", "", time.perf_counter_ns())))
    firsts = [0] * count
    for number in range(count):
        sock.sendall(encode(Stream(number, f"f{number}", "function", "/f.py", number)) + calls(number, 0))
        firsts[number] = 3
        if number % 100 == 0:
            time.sleep(0.02)
    while time.monotonic() < end:
        for _ in range(100):
            number = min(int(rng.expovariate(20 / count)), count - 1)
            sock.sendall(calls(number, firsts[number]))
            firsts[number] += 3
        time.sleep(0.02)


def gauges(address: str, token: str, count: int, seconds: float) -> None:
    """A million readings as fast as they go, then some more."""
    sock = greet(address, token)
    from tfslowtop.agent.protocol.events import Gauge
    from tfslowtop.agent.protocol.wire import encode

    end, sent = time.monotonic() + seconds, 0
    while sent < count and time.monotonic() < end:
        sock.sendall(b"".join(encode(Gauge(f"g{k}", time.perf_counter_ns(), k)) for k in range(1_000)))
        sent += 1_000
    time.sleep(max(0.0, end - time.monotonic()))


def mutants(address: str, token: str, seed: int, seconds: float) -> None:
    """Conversations with damage; whoever is hung up on calls again."""
    rng, end = random.Random(seed), time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            sock = greet(address, token)
            from fuzzing import conversation, mutated, payload_mutated

            sock.settimeout(0.2)
            frames = conversation(rng.randrange(1 << 30))
            at = rng.randrange(len(frames))
            frames[at] = payload_mutated(frames[at], rng)
            sock.sendall(b"".join(frames) if rng.random() < 0.5 else mutated(frames, rng))
            sock.recv(1)
        except OSError:
            pass
        time.sleep(0.02)


def main() -> None:
    what, *arguments = sys.argv[1:]
    numbers = [float(a) if "." in a else int(a) if a.isdigit() else a for a in arguments]
    globals()[what](*numbers)


if __name__ == "__main__":
    main()
