"""Reports when a module's import begins and ends, without importing anything itself.

It is a finder at the front of `sys.meta_path` that asks the other finders, and wraps the loader of modules
that somebody waits for. A module that is merely looked up (`importlib.util.find_spec`), or whose import
fails, is still waited for.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from _thread import get_ident
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

Callback = Callable[[], None]


def _nothing() -> None:
    pass


_NOBODY: tuple[Callback, Callback] = (_nothing, _nothing)


class _Loader(importlib.abc.Loader):
    def __init__(self, inner: importlib.abc.Loader, waiting: dict[str, tuple[Callback, Callback]]) -> None:
        self._inner, self._waiting = inner, waiting

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # The module keeps its own loader, for whoever asks for its source or resources.
        module.__loader__ = self._inner
        if module.__spec__ is not None:
            module.__spec__.loader = self._inner
        name = module.__name__
        before, after = callbacks = self._waiting.pop(name, _NOBODY)
        before()
        try:
            self._inner.exec_module(module)
        except BaseException:
            if callbacks is not _NOBODY:
                self._waiting[name] = callbacks
            raise
        after()


class Watch(importlib.abc.MetaPathFinder):
    def __init__(self) -> None:
        self._waiting: dict[str, tuple[Callback, Callback]] = {}
        self._searching = 0

    def on_import(self, name: str, *, before: Callback = _nothing, after: Callback = _nothing) -> None:
        """Call `before` and `after` around the import of `name`; `after` at once if it is imported."""
        if name in sys.modules:
            importlib.import_module(name)  # waits if another thread is importing it
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
        me = get_ident()
        if fullname not in self._waiting or self._searching == me:
            return None
        self._searching = me  # another finder of this kind may ask all finders again, including us
        try:
            spec = _search(fullname, path, target, but=self)
        finally:
            self._searching = 0
        if spec is not None and spec.loader is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader, self._waiting)
        return spec


def _search(
    name: str, path: Sequence[str] | None, target: ModuleType | None, *, but: object
) -> importlib.machinery.ModuleSpec | None:
    for finder in list(sys.meta_path):
        if finder is not but and hasattr(finder, "find_spec"):
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                return spec
    return None
