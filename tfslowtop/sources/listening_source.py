"""A process of ours whose agent connects to us: a scenario's child, or a script without a keeper."""

from __future__ import annotations

import selectors

from ..agent.protocol.events import Command, Event, Note
from .event_loop import EventLoop
from .listener import Connection, Listener


class Listening(EventLoop):
    """The subclass starts the process. Commands wait until its agent has identified itself."""

    def __init__(self) -> None:
        super().__init__()
        self._listener: Listener | None = None
        self._connection: Connection | None = None
        self._waiting: list[Command] = []
        self._heard_agent = False

    def _listen(self) -> Listener:
        self._listener = Listener()
        self._selector.register(self._listener.socket, selectors.EVENT_READ)
        return self._listener

    def _ready(self, thing: object) -> list[Event]:
        if self._listener is not None and thing is self._listener.socket:
            return self._accept(self._listener)
        if self._connection is not None and thing is self._connection.socket:
            return self._receive(self._connection)
        return []

    def _accept(self, listener: Listener) -> list[Event]:
        connection = listener.accept()
        if connection is None:
            return []
        events: list[Event] = []
        if self._connection is not None and self._connection.hello is None:
            events = self._receive(self._connection)  # its token may be here already
        if self._connection is not None and self._connection.hello is None:
            self._hang_up()  # a silent client must not keep the agent out
        if self._connection is not None:
            connection.close()
            return [*events, Note("A second process tried to connect; it was refused.")]
        self._connection = connection
        self._selector.register(connection.socket, selectors.EVENT_READ)
        if self._heard_agent:
            connection.call()
        return events

    def _receive(self, connection: Connection) -> list[Event]:
        events = connection.receive()
        if events is None:
            self._hang_up()
            return []
        if connection.hello is not None:
            self._heard_agent = True
            waiting, self._waiting = self._waiting, []
            for command in waiting:
                connection.send(command)
            connection.flush()
        if connection.fault:
            self._hang_up()
            if connection.hello is not None:  # a refused stranger changes nothing
                self._misunderstood()
            events.append(Note(connection.fault))
        return events

    def _misunderstood(self) -> None:
        """React to an agent that sent something unreadable and was disconnected."""

    def _rest_of_it(self, *silent: object) -> list[Event]:
        """Read what is left in our buffers once the process has ended. `silent` are always ready."""
        events: list[Event] = []
        while ready := [
            key.fileobj
            for key, _ in self._selector.select(0)
            if key.fileobj not in (self._wake_read, *silent)
        ]:
            for thing in ready:
                events += self._ready(thing)
        return events

    def _send(self, command: Command) -> None:
        if self._connection is not None and self._connection.hello is not None:
            self._connection.send(command)
        else:
            self._waiting.append(command)

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._selector.unregister(self._connection.socket)
            self._connection.close()
            self._connection = None

    def _leave(self) -> None:
        self._hang_up()
        if self._listener is not None:
            self._listener.close()
