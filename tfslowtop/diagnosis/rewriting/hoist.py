"""Changes that several causes share: moving a statement out of its loop, and converting an argument."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ..finding import Finding
from .statement import Change, Function, Statement, called_name, indented, names_assigned, names_read


def hoist(statement: Statement, finding: Finding) -> Change | None:
    """Move a statement out of its loop or, without one, out of its function, which is called repeatedly."""
    return hoisted(statement)


def hoisted(statement: Statement, instead: str = "") -> Change | None:
    """Move a statement out of its loop or function; `instead` is what remains in its place."""
    outer = statement.loop or statement.function
    if outer is None or (isinstance(statement.node, ast.For | ast.While | ast.Return)):
        return None
    changing = _inputs(outer) | names_assigned(outer)
    if names_read(statement.node) & changing - names_assigned(statement.node):
        return None  # it depends on the iteration
    if _assigned_again(outer, statement.node):
        return None  # what follows would start from the last iteration's value
    text, header = statement.edited(), statement.header(outer)
    rest = f"\n    {instead}" if instead else ""
    return Change(f"{header}\n{indented(text)}", f"{text}\n{header}{rest}\n    ...")


def _assigned_again(outer: ast.stmt, statement: ast.stmt) -> bool:
    """Whether other statements of a loop or function assign to a name that a statement of it assigns."""
    inside = {id(node) for node in ast.walk(statement)}
    mine = {statement.name} if isinstance(statement, Function | ast.ClassDef) else names_assigned(statement)
    others = (n for n in ast.walk(outer) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return any(n.id in mine and id(n) not in inside for n in others)


def _inputs(outer: ast.stmt) -> set[str]:
    """Return the names that each iteration of a loop, or each call of a function, sets."""
    target = getattr(outer, "target", None)
    if isinstance(target, ast.expr):
        return names_read(target)
    arguments = getattr(outer, "args", None)
    return {a.arg for a in arguments.args} - {"self"} if isinstance(arguments, ast.arguments) else set()


def convert_argument(
    convert: Callable[[str, Finding], str],
) -> Callable[[Statement, Finding], Change | None]:
    """Return a change that converts the argument at fault; `convert` gets its source."""

    def change(statement: Statement, finding: Finding) -> Change | None:
        wanted = str(finding.evidence.get("argument", ""))
        function = statement.definition(finding.symbol)
        for call in statement.calls():
            if called_name(call) != finding.symbol:
                continue
            given = {k.arg: k.value for k in call.keywords if k.arg}
            if function is not None:
                own = [a.arg for a in function.args.args if a.arg != "self"]
                given |= dict(zip(own, call.args, strict=False))
            part = given.get(wanted)
            if part is not None:
                new = convert(statement.source(part), finding)
                return Change(statement.edited(), statement.edited((part, new)))
        return None

    return change
