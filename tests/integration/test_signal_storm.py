"""What a signal handler raises reaches the program, whatever code of ours runs when the signal comes."""

from __future__ import annotations

import subprocess
import sys

import pytest
from paths import ROOT

#: Calls `work` again and again under a storm of signals whose handler raises; each exception must be caught
#: here exactly once. One that is lost leaves the counts apart.
STORM = """
import os, signal, sys, time
sys.path.insert(0, {root!r})
from tfslowtop.agent.sender import Agent
from tfslowtop.agent.protocol.channel import MemoryChannel
from tfslowtop.agent.hooks.context import HookContext

class Alarm(Exception):
    pass

context = HookContext(Agent(MemoryChannel()), "x.py")
{place}

raised = caught = 0
armed = False

def handler(number, frame):
    global armed, raised
    if armed:
        armed = False
        raised += 1
        raise Alarm

def storm():
    global armed
    armed = True
    while armed and time.monotonic() < end:
        for _ in range(20):
            work()
    for _ in range(1000):
        pass  # what is raised soon is raised here
    armed = False

signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
end = time.monotonic() + 1.5
while time.monotonic() < end and raised == caught:
    try:
        storm()
    except Alarm:
        caught += 1
signal.setitimer(signal.ITIMER_REAL, 0)
print("enough" if raised > 50 else raised, "lost", raised - caught, "errors", context.errors)
"""

PLACES = {
    "collector": """
import gc
from tfslowtop.agent.hooks.garbage_collector import GarbageCollectorHook
hook = GarbageCollectorHook(context)
heap = [[] for _ in range(20_000)]
def work():
    gc.collect()
    hook.tick(0)
""",
    "weak references": """
from tfslowtop.agent.hooks.tf_function.calls import FunctionHook
hook, graphs = FunctionHook(context), context.graphs
class Function:
    _python_function = staticmethod(lambda: None)
def work():
    hook._learn(Function(), None)
    graphs[Function()] = None
""",
    "frames that end": """
from tfslowtop.agent.steps.streams import CALL
def hooked():
    iteration = context.tracker.enter(sys._getframe(), time.perf_counter_ns())
    if iteration is not None:
        iteration.bits |= CALL
def work():
    for a in range(1):
        for b in range(1):
            for c in range(1):
                for d in range(2):
                    hooked()
""",
    "hooked calls": """
from tfslowtop.agent.steps.streams import CALL
wrapped = context.timed(lambda frame, args: context.site("function", "f", frame), CALL)(lambda *args: None)
tell = lambda frame, args, wall: context.tallies.add("model", frame)
noted = context.reported("model", tell)(lambda *args: None)
def work():
    wrapped()
    noted()
""",
    "traces": """
import types
from tfslowtop.agent.hooks.tf_function.places import PLACES
from tfslowtop.agent.hooks.tf_function.traces import TraceHook
MODULE = next(iter(PLACES))
module = sys.modules[MODULE] = types.ModuleType(MODULE)
def create(function_type, type_context, func_graph, options):
    pass
module._create_concrete_function = create
options = types.SimpleNamespace(
    python_function=create, name='', function_cache=None, scope_type=None, attributes=None
)
TraceHook(context.agent.emit, context).install(MODULE)
def work():
    module._create_concrete_function(types.SimpleNamespace(parameters={}), None, None, options)
""",
    "pending calls": """
from tfslowtop.agent.safety.interrupt import Interrupt
interrupt = Interrupt(lambda frame: [None for _ in range(20)])
def work():
    interrupt.ask()
""",
    "forks": """
from tfslowtop.agent.boot import forks
class Owner:
    def forked(self):
        os._exit(0)
owner = Owner()
forks.around_forks(context.agent, owner.forked)
context.agent.start()
def work():
    os.waitpid(os.fork(), 0)
""",
    "imports": """
import types
from tfslowtop.agent.boot.import_watch import _Loader
class Inner:
    def exec_module(self, module):
        pass
def after():
    try:
        [None for _ in range(20)]
    except Exception as error:
        context.report_error(error)
def work():
    module = types.ModuleType("m")
    _Loader(Inner(), {"m": (after, after)}).exec_module(module)
""",
}


@pytest.mark.parametrize("place", PLACES)
def test_nothing_that_a_handler_raises_is_lost(place, tmp_path):
    program = STORM.format(root=str(ROOT), place=PLACES[place])
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("enough lost 0 errors 0\n", ""), done.stdout + done.stderr
