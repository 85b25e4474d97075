"""The interface of every source: events out, commands in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from ..agent.protocol.events import Command, Ended, Event
from ..clean import clean
from ..errors import UserError

if TYPE_CHECKING:  # it would load NumPy, which a keeper does not need
    from ..state.readings import Reading


class SourceError(UserError):
    """A source that cannot start, in one sentence with the next thing to do."""

    multiline = True

    def __str__(self) -> str:
        return clean(super().__str__(), lines=True)  # file names are in it


class Source(Protocol):
    """Something to watch. One thread calls `start` and `events`; `send` and `stop` may come from another."""

    @property
    def pid(self) -> int | None:
        """The watched process, once there is one."""

    def start(self) -> None:
        """Start and return at once; `SourceError` if it cannot even begin."""

    def rest(self, seconds: float) -> bool:
        """Sleep through incoming events; return True at once when something has to be sent."""

    def events(self, timeout: float) -> Sequence[Event | Reading]:
        """Return what came since the last call; wait up to `timeout` seconds for something to come.

        The last event of a source is `Ended`; nothing follows it. Only a recording has readings among its
        events: for a live process, the watcher's own sensors take them.
        """

    def wait(self) -> Ended:
        """Wait for the target's end and read nothing else, for when `events` itself fails.

        `SourceError` for a target that lives on without us and can be watched again.
        """

    def send(self, command: Command) -> None:
        """Send a command. Never blocks; does nothing when the target is gone."""

    def stop(self) -> None:
        """End the target, politely at first; `events` still delivers the rest."""

    def close(self) -> None:
        """Leave nothing behind: no process, no file, no descriptor."""
