"""Says when a module's import begins and ends, without importing anything itself.

A finder at the front of `sys.meta_path` that finds nothing: it asks the others, and wraps the loader of the
modules that somebody waits for. Each is wrapped once; the finder leaves when none is left.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import ModuleType

Callback = Callable[[], None]


class _Loader(importlib.abc.Loader):
    def __init__(self, inner: importlib.abc.Loader, before: Callback, after: Callback) -> None:
        self._inner, self._before, self._after = inner, before, after

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # The module keeps its own loader: whoever asks for its source or resources finds what was there
        # before.
        module.__loader__ = self._inner
        if module.__spec__ is not None:
            module.__spec__.loader = self._inner
        self._before()
        self._inner.exec_module(module)
        self._after()


class Watch(importlib.abc.MetaPathFinder):
    def __init__(self) -> None:
        self._waiting: dict[str, tuple[Callback, Callback]] = {}

    def on_import(
        self, name: str, *, before: Callback = lambda: None, after: Callback = lambda: None
    ) -> None:
        """Calls `before` and `after` around the import of `name`; `after` at once if it is there already."""
        if name in sys.modules:
            importlib.import_module(name)  # waits, if another thread is in the middle of it
            after()
            return
        self._waiting[name] = (before, after)
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def remove(self) -> None:
        self._waiting.clear()
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        callbacks = self._waiting.pop(fullname, None)
        if callbacks is None:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, *callbacks)
                return spec
        self._waiting[fullname] = callbacks  # not there now; perhaps later, from another path
        return None
