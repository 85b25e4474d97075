"""What a screen is given to draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..scenario import Fix
from ..state.view import View


@dataclass(frozen=True, slots=True)
class Frame:
    """A view, and what the app knows beside it. While the app is paused, the view is that of the pause."""

    view: View
    title: str
    """What is being watched: a scenario's title, or a script's name."""
    file_name: str
    status: str
    """What the run is doing right now, in a few words; not frozen by a pause."""
    baselines: Mapping[str, float]
    """The pinned level of each quantity, if there is one."""
    fixes: tuple[Fix, ...] = ()
    """What can be toggled, in the order of the keys 1 to 9."""
    requested: tuple[str, ...] = ()
    """Ids of the fixes that the user switched on; `view.fixes` has those that the target confirmed."""
