"""To look at another thread's frames must not crash the program, whatever the collector does meanwhile."""

from __future__ import annotations

import subprocess
import sys

from paths import ROOT

#: The collector runs at every sixth object, and lets the other threads go on in the middle of a look. Without
#: care, Python 3.11 crashes within a second or two.
PROGRAM = """
import gc, threading, time
from tfslowtop.agent.sender import Agent
from tfslowtop.agent.protocol.channel import MemoryChannel
from tfslowtop.agent.hooks.sampler import Sampler
from tfslowtop.agent.hooks.context import HookContext

hook = Sampler(HookContext(Agent(MemoryChannel()), "-c"))
looker, done = 0, False

def pause(phase, info):
    if threading.get_ident() == looker:
        time.sleep(0.001)

def look():
    global looker
    looker = threading.get_ident()
    while not done:
        hook.tick(time.perf_counter_ns())
        time.sleep(0.0005)

def deep(n):
    if n:
        return deep(n - 1) + 1
    time.sleep(0.00005)
    return 0

def work():
    while not done:
        deep(30)

gc.callbacks.append(pause)
gc.set_threshold(6, 10, 10)
threads = [threading.Thread(target=target) for target in (look, work)]
for thread in threads:
    thread.start()
time.sleep(4)
done = True
for thread in threads:
    thread.join()
print("seen" if hook.context.tallies.changed(0) else "nothing", gc.isenabled())
"""


def test_frames_that_end_while_they_are_looked_at():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT)},
        timeout=120,
    )
    assert (done.returncode, done.stdout.split()) == (0, ["seen", "True"]), done.stderr[-2000:]
