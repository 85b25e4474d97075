"""What every source is: events out, commands in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from ..agent.protocol.events import Command, Ended, Event
from ..clean import clean
from ..errors import UserError

if TYPE_CHECKING:  # it would load NumPy, which a keeper has no use for
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
        """Returns at once; `SourceError` if it cannot even begin."""

    def rest(self, seconds: float) -> bool:
        """Sleeps through whatever comes; True at once when something is to be sent."""

    def events(self, timeout: float) -> Sequence[Event | Reading]:
        """What came since the last call; waits up to `timeout` seconds for something to come.

        The last event of a source is `Ended`; after it there is nothing. Only a recording has readings among
        them: of a live process, sensors of the watcher's own take them.
        """

    def wait(self) -> Ended:
        """Waits for the target's end and reads nothing else: for when `events` itself fails.

        `SourceError` for a target that lives on without us and can be watched again.
        """

    def send(self, command: Command) -> None:
        """Never blocks; does nothing when the target is gone."""

    def stop(self) -> None:
        """Ends the target, politely and then not; `events` still delivers the rest."""

    def close(self) -> None:
        """Leaves nothing behind: no process, no file, no descriptor."""
