"""What every source is: events out, commands in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..agent.events import Command, Event


class SourceError(Exception):
    """A source that cannot start, in one sentence with the next thing to do."""


class Source(Protocol):
    """Something to watch. One thread calls `start` and `events`; `send` and `stop` may come from another."""

    @property
    def pid(self) -> int | None:
        """The watched process, once there is one."""

    def start(self) -> None:
        """Returns at once; `SourceError` if it cannot even begin."""

    def rest(self, seconds: float) -> bool:
        """Sleeps through whatever comes; True at once when something is to be sent."""

    def events(self, timeout: float) -> Sequence[Event]:
        """What came since the last call; waits up to `timeout` seconds for something to come.

        The last event of a source is `Ended`; after it there is nothing.
        """

    def send(self, command: Command) -> None:
        """Never blocks; does nothing when the target is gone."""

    def stop(self) -> None:
        """Ends the target, politely and then not; `events` still delivers the rest."""

    def close(self) -> None:
        """Leaves nothing behind: no process, no file, no descriptor."""
