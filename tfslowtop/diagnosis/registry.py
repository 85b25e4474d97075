"""All detectors and their causes, collected from the modules in `causes/`.

The package is walked instead of listing its modules by hand: a detector that somebody forgot to list would never
run, and nothing would say so. The order of modules does not matter, because findings are ordered by cost.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil

from . import causes as modules
from .cause import Area, Cause, Detector
from .conditions import Condition
from .names import CauseId


@functools.cache
def detectors() -> dict[str, Detector]:
    """Return every detector by the name of its module."""
    names = [module.name for module in pkgutil.iter_modules(modules.__path__)]
    return {name: importlib.import_module(f"{modules.__name__}.{name}").DETECTOR for name in names}


@functools.cache
def causes() -> dict[CauseId, Cause]:
    """Return every cause by its id, in the order of the documentation."""
    found = [cause for detector in detectors().values() for cause in detector.causes]
    areas = list(Area)
    return {cause.id: cause for cause in sorted(found, key=lambda cause: areas.index(cause.area))}


@functools.cache
def conditions() -> tuple[Condition, ...]:
    """Return the conditions under which the machine slows the program."""
    return tuple(cause.condition for cause in causes().values() if cause.condition is not None)


def explain(cause: str) -> str:
    """Explain a cause in plain text, with unwrapped paragraphs; raise KeyError for an unknown one."""
    about = causes()[CauseId(cause)]
    parts = [f"{about.id}: {about.headline}", about.mechanism, about.advise(), about.example()]
    if about.scenario:
        parts.append(f"To see it happen, run: tfslowtop {about.scenario}")
    return "\n\n".join(parts) + "\n"
