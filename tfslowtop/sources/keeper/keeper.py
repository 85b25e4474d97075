"""What the keeper does while the script runs: one loop over a terminal, an agent and a watcher.

Output is read as fast as the script writes it, whether or not somebody watches, and the end of it is kept. A
watcher never slows the script's printing: one that cannot keep up gets the newest lines and learns how much
it missed. A file, if requested, gets everything.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import time
from pathlib import Path
from typing import Any

from ...agent.protocol.events import Ended, Hello, Note, Output
from ...agent.protocol.wire import PROTOCOL, encode, number_of
from ..session_file import Record, write
from . import control
from .relay import CHUNK, KEPT, Pace, Peer, Tail, accept, hang_up
from .terminal import resize, take_back_foreground

#: Bytes that may wait for a watcher before the agent has to fold its samples.
_BACKLOG = 1 << 20

#: Reads of the terminal between two checks of everything else. One returns 4 KB or less.
_READS = 64

#: Seconds to let output gather before it is read. A script that prints lines in a tight loop would otherwise
#: wake us for each of them; the terminal holds far more than it can print in that time.
_GATHER = 0.001

#: An agent must not report the script's end, nor output that the script has not written.
_OWN = (number_of(Ended), number_of(Output))


class Keeper:
    def __init__(self, config: dict[str, Any], master: int, pid: int, wake: int) -> None:
        self._master, self._pid, self._wake = master, pid, wake
        os.set_blocking(master, False)
        self._directory = Path(config["directory"])
        self._agents = socket.socket(fileno=config["agent"])
        self._watchers = socket.socket(fileno=config["watch"])
        self._file: int | None = config["file"]
        self._return = b""
        for descriptor in (
            self._agents.fileno(),
            self._watchers.fileno(),
            config["lock"],
            master,
            self._file,
        ):
            if descriptor is not None:
                os.set_inheritable(descriptor, False)
        self._agents.setblocking(False)
        self._watchers.setblocking(False)
        self._record = Record(pid, tuple(config["program"]), config["cwd"], time.time(), config["token"])
        write(self._directory, self._record)
        self._watcher: Peer | None = None
        self._agent: Peer | None = None  # the one that is listened to
        self._idle: Peer | None = None  # the one that waits for a watcher
        self._had_agent = False
        self._for_agent = bytearray()  # commands that arrived before the agent did
        self._tail, self._pace = Tail(), Pace()
        self._open = True  # somebody has the other end of the terminal
        self._code: int | None = None
        self._last: int | None = None  # where the script's own output ended
        self._end_reported = False
        self._accept_watcher()  # before any agent: it was there first

    def run(self) -> None:
        while not self._over():
            try:
                self._wait()
                self._reap()
                if self._code is not None and not self._end_reported and self._quiet():
                    self._tell_the_end()
            except Exception as error:
                # An error of ours must not hang up on the script: continue without the peer that caused it.
                self._say(f"Error in tfslowtop's keeper: {type(error).__name__}: {error}")
                self._feed_watcher()
                self._lose_watcher()
                time.sleep(0.1)

    def _over(self) -> bool:
        # Children that the script left running may still print until the last of them ends.
        return self._end_reported and not self._open and self._watcher is None

    # -- waiting ------------------------------------------------------------------------------------------

    def _wait(self) -> None:
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        if not self._end_reported:
            poll.register(self._agents, select.POLLIN)
            poll.register(self._watchers, select.POLLIN)
        if self._open:
            poll.register(self._master, select.POLLIN)
        for peer in (self._watcher, self._agent, self._idle):
            if peer is not None:
                reading = (
                    peer is not self._agent or self._watcher is None or len(self._watcher.out) < _BACKLOG
                )
                events = (select.POLLIN if reading else 0) | (select.POLLOUT if peer.out else 0)
                poll.register(peer.socket, events)
        paced = self._watcher is not None and self._tail.unread and not self._watcher.out
        ready = {descriptor for descriptor, _ in poll.poll(1000 * self._pace.wait + 1 if paced else None)}
        self._handle(ready)

    def _handle(self, ready: set[int]) -> None:
        if self._wake in ready:
            os.read(self._wake, 4096)
        if self._master in ready:
            time.sleep(_GATHER)
            self._read_terminal()
        if self._watchers.fileno() in ready:
            self._accept_watcher()
        if self._agents.fileno() in ready:
            self._accept_agent()
        if self._agent is not None and self._agent.socket.fileno() in ready:
            self._hear_agent()
        if self._idle is not None and self._idle.socket.fileno() in ready and self._idle.pull() is None:
            self._idle = hang_up(self._idle)
        if self._watcher is not None and self._watcher.socket.fileno() in ready:
            self._hear_watcher()
        self._feed_watcher()
        if self._agent is not None:
            self._agent.out += self._for_agent
            self._for_agent.clear()
            self._agent.push()

    # -- the terminal -------------------------------------------------------------------------------------

    def _read_terminal(self) -> bool:
        """Read what is there, though not forever: a script may print without end. Return whether that was
        all."""
        for _ in range(_READS):
            try:
                data = os.read(self._master, CHUNK)
            except BlockingIOError:
                return True
            except OSError:  # EIO: nobody has the other end any more
                self._open = False
                self._write(b"", last=True)
                return True
            self._tail.add(data)
            self._write(data)
        return False

    def _write(self, data: bytes, *, last: bool = False) -> None:
        """Write to the file that gets everything, with the line ends of the script."""
        if self._file is None:
            return
        data = self._return + data
        # A carriage return at the end may be the first half of a line end.
        self._return = b"\r" if data.endswith(b"\r") and not last else b""
        left = data.removesuffix(self._return).replace(b"\r\n", b"\n")
        try:
            while left:
                left = left[os.write(self._file, left) :]
        except OSError as error:
            self._file = None
            self._say(f"The output is no longer written to the file: {error.strerror}.")

    def _reap(self) -> None:
        while self._code is None:
            pid, status = os.waitpid(self._pid, os.WNOHANG | os.WUNTRACED)
            if not pid:
                return
            if not os.WIFSTOPPED(status):
                self._code = os.waitstatus_to_exitcode(status)
                take_back_foreground(self._master)
            elif os.WSTOPSIG(status) == signal.SIGTSTP:
                # Ctrl-Z. A shell would take over and wait for `fg`; there is none here, so it would stop for
                # good.
                self._say(
                    "Ctrl-Z does not suspend the script: there is no shell in its terminal to resume it."
                )
                self._signal(signal.SIGCONT)

    def _quiet(self) -> bool:
        """Finish after the script's end: all its output and its agent's events have been read."""
        if not self._had_agent:
            self._accept_agent()  # a script may end before its agent was accepted
        if self._last is None:
            # Children that it left running may go on printing; they are not waited for.
            for _ in range(_READS):
                if not self._open or self._read_terminal():
                    break
            self._last = self._tail.end
        while self._agent is not None and self._watcher is not None and len(self._watcher.out) < _BACKLOG:
            if not self._hear_agent():
                self._agent = hang_up(self._agent)
        self._feed_watcher()
        watcher = self._watcher
        return watcher is None or (
            self._agent is None and not watcher.out and self._tail.position >= self._last
        )

    def _tell_the_end(self) -> None:
        assert self._code is not None
        self._end_reported = True
        self._agents.close()
        self._watchers.close()
        if self._watcher is None:
            # For whoever asks later. The file records the end, so the lock no longer matters.
            record = self._record
            ended = Record(record.pid, record.argv, record.cwd, record.started, record.token, self._code)
            write(self._directory, ended, bytes(self._tail.kept[-KEPT:]))
            return
        shutil.rmtree(
            self._directory, ignore_errors=True
        )  # before it is announced: then the session no longer exists
        last = self._tail.take(last=True)
        if last:
            self._watcher.out += encode(Output(last))
        self._watcher.out += encode(Ended(self._code, "", time.perf_counter_ns()))
        self._feed_watcher()

    # -- the agent ----------------------------------------------------------------------------------------

    def _accept_agent(self) -> None:
        peer = accept(self._agents)
        if peer is None:
            return
        # The first one sends at once, because a watcher started the script. Every later one waits for a byte.
        first, self._had_agent = not self._had_agent, True
        if first and self._watcher is not None:
            self._agent = peer
        elif first:
            hang_up(peer)
        else:
            self._idle = hang_up(self._idle) or peer
            self._call_agent()

    def _call_agent(self) -> None:
        if self._watcher is not None and self._idle is not None and self._agent is None:
            self._agent, self._idle = self._idle, None
            self._agent.out += b"\1"

    def _hear_agent(self) -> bool:
        """Read from the agent; return whether there was something. Whole frames go on to the watcher."""
        assert self._agent is not None
        data = self._agent.pull()
        try:
            for kind, whole in self._agent.frames.feed(data or b""):
                if kind in _OWN:
                    raise ValueError("what only the keeper may say")
                if self._watcher is not None:
                    self._watcher.out += whole
        except ValueError as error:
            self._say(f"The agent sent {error}; it was hung up on.")
            data = None
        if data is None:
            self._agent = hang_up(self._agent)
        return bool(data)

    # -- the watcher --------------------------------------------------------------------------------------

    def _accept_watcher(self) -> None:
        peer = accept(self._watchers)
        if peer is None:
            return
        self._lose_watcher()  # the newest one wins: the old one may hang on a dead connection
        self._watcher = peer
        peer.out += encode(Hello(PROTOCOL, self._record.token, self._pid, ""))
        self._tail.rewind()
        self._call_agent()

    def _lose_watcher(self) -> None:
        self._watcher = hang_up(self._watcher)
        self._agent = hang_up(self._agent)
        self._for_agent.clear()

    def _hear_watcher(self) -> None:
        assert self._watcher is not None
        data = self._watcher.pull()
        if data is None:
            self._lose_watcher()
            return
        try:
            for kind, whole in self._watcher.frames.feed(data):
                if kind < control.FIRST:
                    self._for_agent += whole
                else:
                    self._obey(kind, whole[control.HEADER.size :])
        except (ValueError, OSError) as error:
            self._say(f"The keeper did not understand: {error}.")

    def _obey(self, kind: int, payload: bytes) -> None:
        if self._code is not None:
            return
        if kind == control.SIGNAL:
            self._signal(payload[0])
        elif kind == control.RESIZE:
            resize(self._master, *control.parse_size(payload))
        elif kind == control.TYPE:
            os.write(self._master, payload)

    def _signal(self, number: int) -> None:
        # The whole job, as with the terminal's Ctrl-C; a suspended one must receive it too.
        for wanted in (number, signal.SIGCONT) if number == signal.SIGTERM else (number,):
            try:
                os.killpg(self._pid, wanted)
            except OSError:
                os.kill(
                    self._pid, wanted
                )  # it has moved to another group; it is still ours until it is reaped

    def _feed_watcher(self) -> None:
        watcher = self._watcher
        if watcher is None:
            return
        over = self._code is not None  # nothing is left to be slowed
        while self._tail.unread and len(watcher.out) < CHUNK and (over or not self._pace.wait):
            text = self._tail.take()
            if text:
                self._pace.spend(len(text))
                watcher.out += encode(Output(text))
            if not watcher.push():
                break
        if not watcher.push():
            self._lose_watcher()

    def _say(self, text: str) -> None:
        if self._watcher is not None:
            self._watcher.out += encode(Note(text))
