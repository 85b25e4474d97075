"""Base class for hooks."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ..protocol.names import StreamKind
from .context import HookContext
from .patch import MissingTarget, Patch, Prefix, Wrap


class Hook:
    #: What is not watched if the hook finds nothing to patch, for the note.
    title = ""
    #: The modules that it patches; `install` is called for each one that is imported.
    modules: tuple[str, ...] = ()

    def __init__(self, context: HookContext) -> None:
        self.context = context
        self.patches: list[Patch | Prefix] = []

    def install(self, module: ModuleType) -> None:
        """Install the wrappers in a module after its import; `MissingTarget` if they do not fit."""
        raise NotImplementedError

    def tick(self, now: int) -> None:
        """Run about ten times a second, on the agent's thread."""

    def remove(self) -> None:
        for patch in reversed(self.patches):
            patch.off()
        self.patches.clear()

    def patch(self, owner: Any, name: str, wrap: Wrap, times: StreamKind | None = None) -> Patch:
        """Install a wrapper. `times` is the kind of stream into which it times every call, if it does."""
        patch = Patch(owner, name, wrap)
        self.patches.append(patch)
        if times is not None and patch.code is not None:
            self.context.timed_calls[id(patch.code)] = times
        return patch


def tensorflow_context() -> Any:
    """Return TensorFlow's context once it has chosen its devices: asking earlier would make it choose."""
    found = getattr(sys.modules.get("tensorflow.python.eager.context"), "_context", None)
    return found if getattr(found, "_initialized", False) else None


def find(module: ModuleType, *names: str) -> Any:
    """Find a name in a module, or in what has that name."""
    found: Any = module
    for name in names:
        found = getattr(found, name, None)
        if found is None:
            raise MissingTarget(f"{module.__name__}.{'.'.join(names)}")
    return found
