"""Runs in the user's interpreter before the script, and is gone when the script begins.

Python imports `sitecustomize` at start, from PYTHONPATH if it is there. This one hides itself and our
variables, leaves a finder that waits for TensorFlow or NumPy, and hands over to the sitecustomize that it
shadowed, if any. It imports nothing that is not loaded already; the agent is loaded with the first of the
two, because loading it at start would cost every script a tenth of a second. Whatever goes wrong, the script
runs as if we were not there.
"""

import os
import sys
from _thread import get_ident

TYPE_CHECKING = False  # typing is not loaded yet, and is not needed
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

_HERE = os.path.dirname(__file__)  # noqa: PTH120  pathlib is not loaded yet, and need not be
_PREFIX = "TFSLOWTOP_ATTACH_"


def _search(name: str, path: "Any", target: "Any", but: object = None) -> "ModuleSpec | None":
    for finder in list(sys.meta_path):
        if finder is not but and hasattr(finder, "find_spec"):
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                return spec
    return None


class _Finder:
    """Finds nothing itself, but wraps the loader of awaited modules to call `begin` when their import begins.

    Not earlier: many libraries only check for TensorFlow (`importlib.util.find_spec`) and never import it.
    """

    def __init__(self, begin: "Callable[[], None]") -> None:
        self.begin = begin
        self.awaited = {"numpy", "tensorflow"}
        self._searching = 0

    def find_spec(self, name: str, path: "Any" = None, target: "Any" = None) -> "ModuleSpec | None":
        if not self.awaited:
            self.remove()  # we are in a forked child of the script
        if name not in self.awaited or self._searching == get_ident():
            return None
        self._searching = get_ident()  # another finder of this kind may ask all finders again, including us
        try:
            spec = _search(name, path, target, but=self)
        finally:
            self._searching = 0
        if spec is not None and hasattr(spec.loader, "exec_module") and hasattr(spec.loader, "create_module"):
            spec.loader = _Loader(spec.loader, self)  # type: ignore[assignment]
        return spec

    def remove(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)


class _Loader:
    def __init__(self, inner: "Any", finder: _Finder) -> None:
        self._inner, self._finder = inner, finder

    def __getattr__(self, name: str) -> "Any":
        return getattr(self._inner, name)

    def create_module(self, spec: "ModuleSpec") -> "ModuleType | None":
        # From here on the spec has its own loader again: no frame of ours is visible while it runs.
        spec.loader = self._inner
        if self._finder in sys.meta_path:
            self._finder.remove()
            self._finder.begin()
            # The agent has installed its own finder since the module was found: find it again.
            found = _search(spec.name, None, None)
            if found is not None and found.loader is not None:
                spec.loader = found.loader
        return spec.loader.create_module(spec)

    def exec_module(self, module: "ModuleType") -> None:
        self._inner.exec_module(module)


def _load(address: str, token: str, step: "str | None") -> None:
    """Load the agent from its path under a private name: nothing of ours gets onto the script's path."""
    try:
        from importlib import import_module
        from importlib.util import module_from_spec, spec_from_file_location

        root = os.path.dirname(os.path.dirname(_HERE))  # noqa: PTH120
        file = os.path.join(root, "__init__.py")  # noqa: PTH118
        spec = spec_from_file_location("_tfslowtop_agent", file, submodule_search_locations=[root])
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        import_module("_tfslowtop_agent.safety.signal_handlers")
        import_module("_tfslowtop_agent.boot.connection").begin(address, token, step)
    except Exception as error:
        handlers = sys.modules.get("_tfslowtop_agent.safety.signal_handlers")
        if handlers is not None and handlers.raised_by_handler(error):
            raise  # a signal arrived, and this is what the script's own handler raised
        # Otherwise the script runs unwatched, and the watcher says so.


def _arm() -> None:
    environ = os.environ
    sys.path[:] = [entry for entry in sys.path if entry != _HERE]
    sys.path_importer_cache.pop(_HERE, None)
    ours = {name[len(_PREFIX) :]: environ.pop(name) for name in list(environ) if name.startswith(_PREFIX)}
    # Our entry was put in front; the rest of the variable is the script's own.
    if "PYTHONPATH" in ours:
        environ["PYTHONPATH"] = ours["PYTHONPATH"]
    else:
        environ.pop("PYTHONPATH", None)
    if "SOCKET" not in ours:
        return
    finder = _Finder(lambda: _load(ours["SOCKET"], ours["TOKEN"], ours.get("STEP")))
    sys.meta_path.insert(0, finder)
    if hasattr(os, "register_at_fork"):
        # Only one process is watched: children run as without us. Only C runs here, because Python ignores
        # what a signal handler raises in such a call.
        os.register_at_fork(after_in_child=finder.awaited.clear)


def _hand_over() -> None:
    """Become the sitecustomize that Python would have found, or no module at all."""
    spec = _search("sitecustomize", None, None)
    if spec is None or spec.loader is None:
        # What `site` expects when there is none. Raising it also removes this module from sys.modules.
        raise ImportError("No module named 'sitecustomize'", name="sitecustomize")
    from _frozen_importlib import module_from_spec

    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


try:
    _arm()
except Exception:
    pass
_hand_over()
