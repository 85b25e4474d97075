"""Finds the scenarios: those that come with tfslowtop, and a user's own file."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from ..scenario import Scenario, ScenarioError, describe
from ..suggestions import did_you_mean


@dataclass(frozen=True, slots=True)
class Entry:
    """A scenario file, and either its description or what is wrong with it."""

    id: str
    path: Path
    scenario: Scenario | None
    error: ScenarioError | None = None

    @property
    def title(self) -> str:
        return self.scenario.title if self.scenario is not None else f"{self.path.name} (broken)"


def directory() -> Path:
    """Return the directory of scenarios: inside the package in a wheel, beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    shipped = package / "_scenarios"
    return shipped if shipped.is_dir() else package.parent / "scenarios"


def load(path: Path) -> Entry:
    try:
        return Entry(path.stem, path, describe(path))
    except ScenarioError as error:
        return Entry(path.stem, path, None, error)


def all_entries() -> list[Entry]:
    """Return every scenario of the catalogue, by article and then by id."""
    paths = sorted(directory().glob("[!_]*.py"))
    return sorted((load(path) for path in paths), key=lambda e: (group(e), e.id))


def group(entry: Entry) -> str:
    """Return the article's three digits; scenarios from no article come last."""
    source = entry.scenario.source if entry.scenario else ""
    return source[:3] if source[:3].isdigit() else "added"


def find(name: str, commands: Collection[str] = ()) -> Entry:
    """Return a scenario by its id, or a file by its path; raise ScenarioError if there is neither.

    `commands` are other names that the user may have meant.
    """
    path = Path(name)
    if path.suffix == ".py" or path.exists():
        if path.is_dir():
            raise ScenarioError("is a directory; a scenario is one Python file.", name)
        if not path.exists():
            raise ScenarioError("there is no such file.", name)
        return load(path)
    entries = {entry.id: entry for entry in all_entries()}
    if name in entries:
        return entries[name]
    kind = "command or scenario" if commands else "scenario"
    hint = did_you_mean(name, [*commands, *entries], "`tfslowtop list` prints them all.")
    raise ScenarioError(f"There is no {kind} called {name!r}; {hint}")
