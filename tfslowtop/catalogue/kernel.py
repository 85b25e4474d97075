"""Runs a scenario's kernel: in a child process of its own, or in a thread of the watcher.

`main` is the child. It connects to the watcher first, so that the screen can say what it is waiting for, and
only then imports what the scenario imports. It is watched like any script, by the same attachment.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import queue
import random
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ..agent.attachment import Attachment
from ..agent.protocol.channel import SocketChannel
from ..agent.protocol.events import (
    Block,
    Command,
    Compare,
    Failed,
    Gauge,
    Hello,
    Phase,
    SetFixes,
    SetParams,
    Stop,
    Toggled,
)
from ..agent.protocol.names import (
    PHASE_DONE,
    PHASE_IMPORTING,
    PHASE_RUNNING,
    PHASE_SETUP,
    PHASE_WARM_UP,
    STREAM_KERNEL,
    GaugeName,
    PhaseName,
)
from ..agent.protocol.wire import PROTOCOL
from ..agent.sender import Agent
from ..scenario import Fixes, Params, Scenario, ScenarioError, describe

SOCKET_VARIABLE = "TFSLOWTOP_SOCKET"
TOKEN_VARIABLE = "TFSLOWTOP_TOKEN"

#: Seconds between two readings of a scenario's own gauges.
GAUGE_PERIOD = 0.1

#: A longer traceback is cut in the middle: people read the ends.
_MAX_TRACEBACK = 20_000


Order = SetFixes | SetParams | Compare


@dataclass(slots=True)
class Arm:
    """A state that iterations work on. An A/B test has two, so that neither depends on the other."""

    state: Any
    fixes: Fixes
    count: int = 0


class Kernel:
    """One run of one scenario: load, set up, and iterate until told to stop."""

    def __init__(
        self, agent: Agent, path: Path, params: Mapping[str, str], fixes: Sequence[str] = ()
    ) -> None:
        self._agent = agent
        self._path = path
        self._params = dict(params)
        self._order: Order = SetFixes(tuple(fixes))
        self._stopping = False
        self._iteration = -1

    def obey(self, command: Command) -> None:
        """Obey a command, on the agent's thread; it takes effect before the next iteration."""
        if isinstance(command, Stop):
            self._stopping = True
        elif isinstance(command, (SetFixes, SetParams, Compare)):
            self._order = command

    def stop(self) -> None:
        self._stopping = True

    def run(self) -> int:
        """Run; return the exit code: 0 when told to stop, 1 when the scenario failed."""
        try:
            scenario = describe(self._path)
            module = self._load()
            self._loop(scenario, module)
        except ScenarioError as error:
            self._agent.emit(Failed(-1, error.file or str(self._path), error.line, error.message, ""))
            return 1
        except (
            BaseException
        ) as error:  # SystemExit and KeyboardInterrupt of a scenario end the run, not the app
            self._agent.emit(self._failure(error))
            return 1
        self._phase(PHASE_DONE)
        return 0

    def _load(self) -> ModuleType:
        self._phase(PHASE_IMPORTING, self._path.name)
        spec = importlib.util.spec_from_file_location(f"scenario_{self._path.stem}", self._path)
        if spec is None or spec.loader is None:
            raise ScenarioError("is not a Python file", str(self._path))
        module = importlib.util.module_from_spec(spec)
        sys.path.insert(0, str(self._path.parent))  # as for a script: it can import what is next to it
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module

    def _loop(self, scenario: Scenario, module: ModuleType) -> None:
        """Iterate, and check before each iteration for a new order."""
        iterate: Callable[..., Any] = module.iteration
        gauges: Callable[..., Mapping[str, float]] | None = getattr(module, "gauges", None)
        code = iterate.__code__
        plan = self._plan(scenario, module)
        arm, _ = next(plan)
        put = self._agent.stream(self._path.stem, STREAM_KERNEL, code.co_filename, code.co_firstlineno).put
        wall_clock, cpu_clock = time.perf_counter_ns, time.process_time_ns
        obeyed, until, next_gauges = self._order, 0, 0
        self._phase(PHASE_WARM_UP)
        i = 0
        while not self._stopping:
            self._iteration = i
            if self._order is not obeyed or (until and wall_clock() >= until):
                obeyed = self._order
                arm, until = plan.send(i)
            cpu = cpu_clock()
            start = wall_clock()
            iterate(arm.state, arm.fixes, arm.count)
            end = wall_clock()
            put(start, end - start, cpu_clock() - cpu)
            arm.count += 1
            i += 1
            if i == scenario.warmup:
                self._phase(PHASE_RUNNING)
            if gauges is not None and end >= next_gauges:
                next_gauges = end + int(GAUGE_PERIOD * 1e9)
                for name, value in gauges(arm.state).items():
                    self._agent.emit(Gauge(GaugeName(name), end, float(value)))

    def _plan(self, scenario: Scenario, module: ModuleType) -> Generator[tuple[Arm, int], int, None]:
        """Yield the next arm, and until when it runs (0: until a new order). Receives the iteration."""

        def arm(fixes: tuple[str, ...]) -> Arm:
            return Arm(module.setup(Params(**scenario.values(self._params))), scenario.active(fixes))

        self._phase(PHASE_SETUP)
        i = 0
        fixes: tuple[str, ...] = ()
        main = arm(fixes)
        while True:
            order = self._order
            if isinstance(order, SetParams):
                self._params = dict(text.split("=", 1) for text in order.params)
                self._phase(PHASE_SETUP)
                main = arm(fixes)
                self._phase(PHASE_RUNNING)
            elif isinstance(order, SetFixes):
                fixes = order.fixes
            if isinstance(order, Compare):
                self._phase(PHASE_SETUP, "A and B")
                arms = (arm(order.a), arm(order.b))
                self._phase(PHASE_RUNNING)
                # In a fixed order any drift would favour one of the two, so each pair is in random order.
                while self._order is order:
                    for k in random.sample((0, 1), 2):
                        self._agent.emit(Block(i, k, (order.a, order.b)[k], time.perf_counter_ns()))
                        i = yield arms[k], time.perf_counter_ns() + int(order.block_seconds * 1e9)
                        if self._order is not order:
                            break
                self._agent.emit(Block(i, -1, (), time.perf_counter_ns()))
            else:
                main.fixes = scenario.active(fixes)
                self._agent.emit(Toggled(i, fixes, time.perf_counter_ns()))
                i = yield main, 0

    def _phase(self, name: PhaseName, detail: str = "") -> None:
        self._agent.emit(Phase(name, detail, time.perf_counter_ns()))
        self._agent.flush()  # an import can hold the interpreter for seconds: tell the watcher first

    def _failure(self, error: BaseException) -> Failed:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if Path(frame.filename) == self._path]
        # The scenario's own frames and what they called; ours, above them, mean nothing to its author.
        first = next((n for n, frame in enumerate(frames) if frame in own), 0)
        text = "Traceback (most recent call last):\n" + "".join(traceback.format_list(frames[first:]))
        text += "".join(traceback.format_exception_only(type(error), error))
        if len(text) > _MAX_TRACEBACK:
            text = text[: _MAX_TRACEBACK // 2] + "\n[...]\n" + text[-_MAX_TRACEBACK // 2 :]
        line = own[-1].lineno or 0 if own else 0
        if isinstance(error, SyntaxError) and not own:
            line = error.lineno or 0
        message = f"{type(error).__name__}: {error}".strip(": ").splitlines()[0][:500]
        return Failed(self._iteration, str(self._path), line, message, text)


def connect() -> SocketChannel:
    """Connect to the watcher that started this process, and send the token."""
    # Removed from the environment: processes that the scenario starts must not use it.
    address, token = os.environ.pop(SOCKET_VARIABLE), os.environ.pop(TOKEN_VARIABLE)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.connect(address)
    channel = SocketChannel(sock)
    channel.send(Hello(PROTOCOL, token, os.getpid(), sys.version.split()[0]))
    channel.flush()
    return channel


class _Child:
    """What the attachment needs to know of a scenario in a process of its own."""

    kernel: Kernel

    def obey(self, command: Command) -> None:
        self.kernel.obey(command)

    def leave(self) -> None:
        """End the process: a scenario does not outlive its watcher."""
        self.kernel.stop()
        time.sleep(2.0)  # a long iteration may finish first
        os._exit(0)


def _warm_up() -> list[str]:
    """Import TensorFlow and return the arguments of the scenario that is wanted then.

    Whoever started this process may end at any time: so does this, also in the middle of the import.
    """
    orders: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def wait() -> None:
        line = sys.stdin.buffer.readline()
        if not line:
            os._exit(0)
        orders.put(json.loads(line))

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    try:
        importlib.import_module("tensorflow")
    except Exception:
        pass  # the scenario will fail to import it, too, and say so
    order = orders.get()
    waiting.join()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.environ.update(order["environment"])
    return list(order["arguments"])


def main(argv: Sequence[str] | None = None) -> int:
    if (sys.argv[1:] if argv is None else argv) == ["--warm"]:
        argv = _warm_up()
    parser = argparse.ArgumentParser(prog="tfslowtop.catalogue.kernel")
    parser.add_argument("file", type=Path)
    parser.add_argument("--params", default="{}", help="a JSON object of texts")
    parser.add_argument("--fixes", default="", help="ids, separated by commas")
    options = parser.parse_args(argv)

    channel = connect()
    child = _Child()
    attachment = Attachment(channel, script=str(options.file), scenario=child)
    fixes = [id for id in options.fixes.split(",") if id]
    child.kernel = kernel = Kernel(attachment.agent, options.file, json.loads(options.params), fixes)
    attachment.start()
    code = kernel.run()
    attachment.remove()
    # Skip the destructors and threads of TensorFlow: exit at once.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
