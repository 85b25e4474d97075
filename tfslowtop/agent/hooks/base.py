"""What every hook is: it waits for modules, finds its place in them or says so, ticks, and comes off."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from .context import Kit
from .patch import NoPlace, Patch, Prefix, Wrap


class Hook:
    #: What is not seen when the hook finds no place, for the note.
    title = ""
    #: The modules that hold its places; it is asked for each one that is imported.
    modules: tuple[str, ...] = ()

    def __init__(self, kit: Kit) -> None:
        self.kit = kit
        self.patches: list[Patch | Prefix] = []

    def place(self, module: ModuleType) -> None:
        """Puts the wrappers into a module that has just been imported; `NoPlace` if they do not fit."""
        raise NotImplementedError

    def tick(self, now: int) -> None:
        """About ten times a second, on the agent's thread."""

    def remove(self) -> None:
        for patch in reversed(self.patches):
            patch.off()
        self.patches.clear()

    def patch(self, owner: Any, name: str, wrap: Wrap) -> Patch:
        patch = Patch(owner, name, wrap)
        self.patches.append(patch)
        return patch


def context() -> Any:
    """TensorFlow's, once it has chosen its devices: to ask for them earlier would choose for it."""
    found = getattr(sys.modules.get("tensorflow.python.eager.context"), "_context", None)
    return found if getattr(found, "_initialized", False) else None


def find(module: ModuleType, *names: str) -> Any:
    """A name in a module, or in what has that name."""
    found: Any = module
    for name in names:
        found = getattr(found, name, None)
        if found is None:
            raise NoPlace(f"{module.__name__}.{'.'.join(names)}")
    return found
