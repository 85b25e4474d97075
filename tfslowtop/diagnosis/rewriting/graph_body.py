"""Whether a function of the user's can become a graph, judging by its text.

A tf.function runs its Python code when it traces, and later only the graph. A function whose Python code does
something at each call, or needs the values of tensors, must not be decorated. The check follows calls of functions and
methods that are defined in the same file; `tfslowtop whatif` tells about the rest.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .statement import Function, Statement, called_name, names_assigned, names_read

#: How far calls of the user's own functions are followed.
_DEPTH = 4
#: Modules whose functions belong into a graph.
_GRAPH_MODULES = {"tf", "tensorflow", "keras", "math_ops"}
#: Modules whose functions are Python at each call.
_PYTHON_MODULES = {
    "np", "numpy", "random", "time", "os", "sys", "json", "logging", "logger", "log", "math", "scipy", "gym", "env",
}  # fmt: skip
_PYTHON_CALLS = {"print", "input", "open", "float", "int", "bool", "next", "sorted", "min", "max"}
#: Methods that act on something outside of the graph, or read the value of a tensor.
_PYTHON_METHODS = {
    "numpy", "item", "tolist", "append", "extend", "insert", "setdefault", "popitem", "write", "writerow", "step",
    "reset", "render", "sample", "info", "debug", "fit", "predict", "evaluate", "train_on_batch", "save",
}  # fmt: skip
#: What creates variables, which only the first trace may do.
_CREATORS = ("Variable", "optimizers.", "layers.", "Sequential", "models.", "keras.Model", "clear_session")


def can_be_graph(statement: Statement, function: Function) -> bool:
    """Whether the function has no effect in Python and needs no value there."""
    return not any(_obstacles(statement, function, _DEPTH))


def passes_counter(statement: Statement, call: ast.Call) -> bool:
    """Whether a call passes something that Python counts: a graph would be traced again for each value."""
    counted = set()
    for each in (node for node in statement.around if isinstance(node, ast.For)):
        if not isinstance(each.iter, ast.Call) or called_name(each.iter) not in ("range", "enumerate"):
            continue
        target = each.target
        if called_name(each.iter) == "enumerate" and isinstance(target, ast.Tuple):
            target = target.elts[0]
        counted |= names_read(target)
    for loop in (node for node in statement.around if isinstance(node, ast.For | ast.While)):
        numbers = [
            n for n in ast.walk(loop) if isinstance(n, ast.AugAssign) and isinstance(n.value, ast.Constant)
        ]
        counted |= {name for number in numbers for name in names_read(number.target)}
    given = [*call.args, *(k.value for k in call.keywords)]
    return any(isinstance(a, ast.Name | ast.BinOp) and names_read(a) & counted for a in given)


def _obstacles(statement: Statement, function: Function, depth: int) -> Iterator[ast.AST]:
    local = {a.arg for a in ast.walk(function) if isinstance(a, ast.arg)} | names_assigned(function)
    for node in (n for s in function.body for n in ast.walk(s)):
        if (
            isinstance(node, ast.Global | ast.Nonlocal | ast.Yield | ast.YieldFrom | ast.Await | ast.Import)
            or (isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store))
            or (isinstance(node, ast.Call) and _is_python(statement, node, local, depth))
        ):
            yield node


def _is_python(statement: Statement, call: ast.Call, local: set[str], depth: int) -> bool:
    text, name = ast.unparse(call.func), called_name(call)
    root = text.partition(".")[0].partition("(")[0]
    if any(creator in text for creator in _CREATORS):
        return True
    if root in _GRAPH_MODULES:
        return False
    if isinstance(call.func, ast.Name):
        if name in _PYTHON_CALLS and name not in local:
            return not all(isinstance(a, ast.Constant) for a in call.args)
    elif (root in _PYTHON_MODULES and root not in local) or (
        name in _PYTHON_METHODS and not _is_tensor_array(statement, call)
    ):
        return True
    own = statement.definition(name) if name not in local else None
    return own is not None and bool(depth) and any(_obstacles(statement, own, depth - 1))


def _is_tensor_array(statement: Statement, call: ast.Call) -> bool:
    """Whether `x.write(...)` or `x.append(...)` is about a tf.TensorArray or another local object of TensorFlow's."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    made = statement.assignment(owner.id) if isinstance(owner, ast.Name) else None
    return made is not None and "TensorArray" in ast.unparse(made.value)
