"""Attacks that once harmed a watched program: each is run for real, and compared with what it does alone."""

from __future__ import annotations

import resource
import subprocess
import sys
import textwrap
import time

import psutil
import pytest
from launching import collect, wait_for

from tfslowtop.agent.protocol.events import Hello
from tfslowtop.sources.script import ScriptSource

#: The main thread is inside C for two seconds while another one allocates: a look at what the program keeps
#: is asked for, and cannot be taken yet.
BUSY_IN_C = """
    import gc, hashlib, threading, time, numpy
    done, kept, objects = False, [], []
    def allocate():
        while not done:
            kept.append(bytearray(1 << 20)) if len(kept) < 400 else kept.clear()
            gc.collect()
            objects[:] = [{i: str(i)} for i in range(2000)]
            time.sleep(0.002)
    thread = threading.Thread(target=allocate)
    thread.start()
    hashlib.pbkdf2_hmac("sha512", b"password", b"salt", 2_500_000)
    done = True
    thread.join()
    gc.collect()
    print("whole")
"""


def write(tmp_path, text: str) -> str:
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(text))
    return str(path)


def test_leaving_while_the_main_thread_is_inside_c(tmp_path):
    """The look that was asked for comes after everything of ours was let go."""
    output = tmp_path / "output"
    source = ScriptSource([write(tmp_path, BUSY_IN_C)], output_file=str(output))
    source.start()
    wait_for(source, lambda events: any(isinstance(event, Hello) for event in events))
    pid = source.pid
    time.sleep(1.0)
    source.close()
    wait_for_end(pid)
    assert output.read_text() == "whole\n"


def wait_for_end(pid: int) -> None:
    deadline = time.monotonic() + 60
    while psutil.pid_exists(pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)


INTERRUPTED = """
    import gc, signal, sys, numpy
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    heap = [[] for _ in range(1_000_000)]
    try:
        # The collection of a million lists takes long: the signal comes in the middle of it.
        signal.setitimer(signal.ITIMER_REAL, 0.005)
        gc.collect()
        print("not interrupted")
    except KeyboardInterrupt:
        print("saved")
        sys.exit(7)
"""


def test_ctrl_c_during_a_collection(tmp_path, capfd):
    script = write(tmp_path, INTERRUPTED)
    done = subprocess.run([sys.executable, "-m", "tfslowtop", "--headless", "--attach", script], timeout=120)
    out, err = capfd.readouterr()
    assert (done.returncode, out) == (7, "saved\n")
    assert "Exception ignored" not in err


CLOSES_ALL = """
    import os, socket, sys, time, numpy
    time.sleep(0.3)
    os.closerange(3, 256)
    files = [open(f"file{i}", "w") for i in range(100)]
    pairs = [socket.socketpair() for _ in range(60)]
    numbers = [file.fileno() for file in files] + [end.fileno() for pair in pairs for end in pair]
    deadline = time.time() + 1.5
    while time.time() < deadline:
        for file in files:
            file.write("x")
            file.flush()
        time.sleep(0.05)
    for a, b in pairs:
        a.setblocking(False), b.setblocking(False)
        for end in (a, b):
            try:
                print("received", end.recv(100))
            except BlockingIOError:
                pass
    for number in numbers:
        os.fstat(number)
    for file in files:
        file.close()
    print("whole", len(numbers))
"""


@pytest.mark.parametrize("leaves", [False, True])
def test_descriptors_that_the_script_closed_are_its_own(leaves, tmp_path):
    """It gets the number of our socket for a file of its own, which is then left alone."""
    script = write(tmp_path, CLOSES_ALL)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, limits[1]))
    output = tmp_path / "output"
    try:
        source = ScriptSource([script], cwd=str(tmp_path), output_file=str(output))
        source.start()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    pid = source.pid
    try:
        wait_for(source, lambda events: any(isinstance(event, Hello) for event in events))
        if not leaves:
            assert collect(source)[-1].code == 0, output.read_text()
    finally:
        source.close()
    wait_for_end(pid)
    assert output.read_text() == "whole 220\n"
