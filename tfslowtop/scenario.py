"""The small API that scenario files use.

A scenario is one file with a description, a `setup`, and one `iteration`:

    from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

    SCENARIO = Scenario(
        title="History grows by np.append",
        kind="grows",
        claim="Appending to an array gets slower as the array gets longer.",
        source="000, added",
        mechanism="np.append copies the whole array. ...",
        params=(Param("step", 500, "numbers appended per iteration"),),
        fixes=(Fix("keep_list", "append to a list instead"),),
    )

    def setup(params: Params) -> State: ...

    def iteration(state: State, fixes: Fixes, i: int) -> object:
        if fixes.keep_list: ...

The description is written in plain values: the watcher reads it from the source without running the file, so
that the catalogue paints before TensorFlow is imported and a broken file can do no harm.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from .errors import UserError

KINDS = ("grows", "leaks", "constant penalty", "pauses", "myth", "stale result", "needs a GPU")

Value = int | float | str


class ScenarioError(UserError):
    """A scenario file that cannot be used, in one sentence; with the place, where there is one."""

    def __init__(self, message: str, file: str = "", line: int = 0) -> None:
        super().__init__(message)
        self.message, self.file, self.line = message, file, line

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.line else f"{self.file}: " if self.file else ""
        return place + self.message


@dataclass(frozen=True, slots=True)
class Param:
    """A number or word that the user may change. `choices` are the only values allowed, if there are any."""

    name: str
    default: Value
    help: str
    choices: tuple[Value, ...] = ()
    minimum: float = 0
    maximum: float = 1e9
    """No machine has the memory for more, nor anybody the time; NumPy's own limits are close."""
    gpu: Value | None = None
    """A realistic larger value for a machine with a GPU; the user writes `name=gpu`."""

    def parse(self, text: str) -> Value:
        if text == "gpu" and self.gpu is not None:
            return self.gpu
        kind = type(self.default)
        try:
            value: Value = kind(text)
        except ValueError:
            word = {int: "a whole number", float: "a number"}.get(kind, "a word")
            raise ScenarioError(f"{self.name}={text}: {self.name} takes {word}.") from None
        if self.choices and value not in self.choices:
            raise ScenarioError(
                f"{self.name}={text}: {self.name} is one of {', '.join(map(str, self.choices))}."
            )
        if not isinstance(value, str) and not self.minimum <= value <= self.maximum:
            low, high = (f"{limit:,.12g}" for limit in (self.minimum, self.maximum))
            raise ScenarioError(f"{self.name}={text}: {self.name} must be between {low} and {high}.")
        return value


@dataclass(frozen=True, slots=True)
class Fix:
    """Something that can be switched on while the scenario runs. `id` is a Python name: `fixes.id`."""

    id: str
    title: str
    half: bool = False
    """Half-fixes do not solve the problem by themselves; they are there to teach."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """What a scenario claims, where the claim comes from, and what can be switched."""

    title: str
    kind: str
    claim: str
    mechanism: str
    source: str = ""
    """The article (its three digits) and the section in it."""
    example: str = ""
    """About the article's own example: does it run as written on TensorFlow 2, and what does it really time?
    """
    params: tuple[Param, ...] = ()
    fixes: tuple[Fix, ...] = ()
    cure: tuple[str, ...] = ()
    """The fixes that make the fixed twin of an A/B test; if empty, all that are not half-fixes."""
    base: tuple[str, ...] = ()
    """Fixes that are active in both twins of an A/B test, so that it compares one thing only."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment of the child process, for what must be set before NumPy or TensorFlow is imported."""
    warmup: int = 1
    """Iterations that count as warm-up."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ScenarioError(f"kind={self.kind!r} is not one of: {', '.join(KINDS)}.")
        ids = [fix.id for fix in self.fixes]
        for id in ids:
            if not id.isidentifier():
                raise ScenarioError(
                    f"the fix {id!r} is not a Python name; iteration() reads it as fixes.name."
                )
        if len(set(ids)) < len(ids):
            raise ScenarioError("two fixes have the same id.")
        for id in (*self.cure, *self.base):
            if id not in ids:
                raise ScenarioError(f"cure or base names {id!r}, which is not a fix.")

    @property
    def cured_by(self) -> tuple[str, ...]:
        return self.cure or tuple(fix.id for fix in self.fixes if not fix.half)

    def values(self, texts: Mapping[str, str]) -> dict[str, Value]:
        """Return the defaults, overridden by what the user wrote."""
        known = {param.name: param for param in self.params}
        for name in texts:
            if name not in known:
                names = ", ".join(known) or "none"
                raise ScenarioError(f"there is no parameter {name!r} here; the parameters are: {names}.")
        return {p.name: p.parse(texts[p.name]) if p.name in texts else p.default for p in self.params}

    def active(self, ids: Iterable[str]) -> Fixes:
        wanted = set(ids)
        return Fixes(**{fix.id: fix.id in wanted for fix in self.fixes})


class Params(SimpleNamespace):
    """The parameters' values: `params.size`."""

    def __getattr__(self, name: str) -> Any:  # reached only for a missing name
        raise AttributeError(f"the scenario declares no parameter {name!r}")


class Fixes(SimpleNamespace):
    """Which fixes are active, as attributes: `if fixes.hoist_graph:`."""

    def __getattr__(self, name: str) -> bool:  # reached only for a missing name
        raise AttributeError(f"the scenario declares no fix {name!r}")


def describe(path: Path) -> Scenario:
    """Read a scenario's description without running its file."""
    file = str(path)
    try:
        tree = ast.parse(path.read_bytes(), filename=file)
    except SyntaxError as error:
        raise ScenarioError(f"syntax error: {error.msg}", file, error.lineno or 0) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ScenarioError(f"cannot be read: {reason}", file) from error
    node = next((n for n in tree.body if _names(n) == ["SCENARIO"]), None)
    if node is None or not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
        raise ScenarioError("has no SCENARIO = Scenario(...)", file, 1)
    functions = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
    for name in ("setup", "iteration"):
        if name not in functions:
            raise ScenarioError(f"has no function {name}()", file, 1)
    try:
        scenario = _value(node.value)
    except ScenarioError as error:
        raise ScenarioError(error.message, file, error.line or node.lineno) from error
    except TypeError as error:
        raise ScenarioError(f"SCENARIO: {error}", file, node.lineno) from error
    if not isinstance(scenario, Scenario):
        raise ScenarioError("SCENARIO is not a Scenario(...)", file, node.lineno)
    return scenario


def _names(node: ast.stmt) -> list[str]:
    targets = (
        node.targets
        if isinstance(node, ast.Assign)
        else [node.target]
        if isinstance(node, ast.AnnAssign)
        else []
    )
    return [t.id for t in targets if isinstance(t, ast.Name)]


_CONSTRUCTORS = {"Scenario": Scenario, "Fix": Fix, "Param": Param}


def _value(node: ast.expr) -> Any:
    """Evaluate a plain value, or one of our own dataclasses made of plain values."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CONSTRUCTORS:
        arguments = [_value(a) for a in node.args]
        keywords = {k.arg: _value(k.value) for k in node.keywords if k.arg}
        return _CONSTRUCTORS[node.func.id](*arguments, **keywords)
    if isinstance(node, (ast.Tuple, ast.List)):
        return tuple(_value(item) for item in node.elts)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError) as error:
        raise ScenarioError("the description is written in plain values only", line=node.lineno) from error
