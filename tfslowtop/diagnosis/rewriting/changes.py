"""Changes that follow from the syntax of the user's own lines: one function per kind.

Each gives before and after, or nothing where the lines are not of the form that is meant.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..finding import Finding
from ..place import Place, called, changing, indented, named, names

#: A number and its dtype take less than this; a larger entry is no number that could be kept instead.
_SCALAR = 16
#: Dtypes that a number can be cast to without a change of what it means.
_NUMBER = re.compile(r"(?:u?int|b?float|complex)\d+")


@dataclass(frozen=True, slots=True)
class Change:
    before: str
    after: str


def wrap_argument(wrap: str) -> Callable[[Place, Finding], Change | None]:
    def change(place: Place, f: Finding) -> Change | None:
        """Wraps the argument that is to blame."""
        wanted = str(f.evidence.get("argument", ""))
        function = place.defined(f.symbol)
        for call in place.calls():
            if called(call) != f.symbol:
                continue
            given = {k.arg: k.value for k in call.keywords if k.arg}
            if function is not None:
                own = [a.arg for a in function.args.args if a.arg != "self"]
                given |= dict(zip(own, call.args, strict=False))
            part = given.get(wanted)
            if part is not None:
                dtypes: Any = f.evidence.get("dtypes", ())
                numbers = (dtype for dtype in dtypes if _NUMBER.fullmatch(dtype))
                new = wrap.format(place.source(part), dtype=next(numbers, "float32"))
                return Change(place.text(place.stmt), place.text(place.stmt, (part, new)))
        return None

    return change


def reduce_retracing(place: Place, f: Finding) -> Change | None:
    """reduce_retracing=True where the function is made."""
    if f.evidence.get("function_file") != f.file:
        return None
    function = place.defined(f.symbol)
    for made in function.decorator_list if function is not None else ():
        text = place.source(made)
        if "function" in text and function is not None:
            end = (
                f"{text[:-1]}, "
                if text.endswith(")") and not text.endswith("()")
                else f"{text.rstrip('()')}("
            )
            before = place.decorated(function)
            return Change(before, before.replace(f"@{text}", f"@{end}reduce_retracing=True)", 1))
    return None


def hoist(place: Place, f: Finding) -> Change | None:
    """Out of the loop; if what makes it is no loop, out of the function that is called again and again."""
    outer = place.loop or place.function
    if outer is None or (isinstance(place.stmt, ast.For | ast.While | ast.Return)):
        return None
    if names(place.stmt) & (_targets(outer) | changing(outer)) - changing(place.stmt):
        return None  # it depends on the turn
    text, header = place.text(place.stmt), place.header(outer)
    again = ""
    if f.cause == "variable-recreated" and isinstance(place.stmt, ast.Assign):
        value = place.stmt.value
        name = place.source(place.stmt.targets[0])
        if isinstance(value, ast.Call) and value.args:
            again = f"\n    {name}.assign({place.source(value.args[0])})"
    return Change(f"{header}\n{indented(text)}", f"{text}\n{header}{again}\n    ...")


def iterate_once(place: Place, f: Finding) -> Change | None:
    """`next(iter(ds))` becomes one iterator that goes on; a dataset that is built again moves out."""
    for call in place.calls():
        inner = call.args[0] if called(call) == "next" and call.args else None
        if isinstance(inner, ast.Call) and called(inner) == "iter" and inner.args and place.loop is not None:
            header, made = place.header(place.loop), f"batches = iter({place.source(inner.args[0])}.repeat())"
            after = indented(place.text(place.stmt, (inner, "batches")))
            return Change(f"{header}\n{indented(place.text(place.stmt))}", f"{made}\n{header}\n{after}")
    return hoist(place, f)


def _targets(outer: ast.stmt) -> set[str]:
    target = getattr(outer, "target", None)
    if isinstance(target, ast.expr):
        return names(target)
    arguments = getattr(outer, "args", None)
    return {a.arg for a in arguments.args} - {"self"} if isinstance(arguments, ast.arguments) else set()


def hoist_object(place: Place, f: Finding) -> Change | None:
    """The object that is passed is made in the loop: it moves out."""
    loop, wanted = place.loop, str(f.evidence.get("argument", ""))
    for made in ast.walk(loop) if loop is not None else ():
        if isinstance(made, ast.Assign) and isinstance(made.value, ast.Call) and loop is not None:
            given = {named(a) for call in place.calls() if called(call) == f.symbol for a in call.args}
            name = named(made.targets[0])
            if name in given and (name == wanted or len(given) == 1 or wanted.startswith(name)):
                text, header, use = place.text(made), place.header(loop), indented(place.text(place.stmt))
                return Change(f"{header}\n{indented(text)}\n{use}", f"{text}\n{header}\n{use}")
    return None


def turn_inside_out(place: Place, f: Finding) -> Change | None:
    """`for: with:` becomes `with: for:`."""
    loop, stmt = place.loop, place.stmt
    if loop is None:
        return None
    if not isinstance(stmt, ast.With):
        return hoist(place, f)
    header, inner = place.header(loop), place.header(stmt)
    body = indented(indented("\n".join(place.text(s) for s in stmt.body)))
    return Change(f"{header}\n{indented(inner)}\n{body}", f"{inner}\n{indented(header)}\n{body}")


def close(place: Place, f: Finding) -> Change | None:
    stmt = place.stmt
    if not isinstance(stmt, ast.Assign):
        return None
    opened = place.source(stmt.value).replace("InteractiveSession(", "Session(")  # which has no `with`
    text = f"with {opened} as {place.source(stmt.targets[0])}:\n    ..."
    return Change(place.text(stmt), text)


def build_once(place: Place, f: Finding) -> Change | None:
    """The ops that are built in the call of run move out; what changes is fed."""
    loop = place.loop
    runs = [c for c in place.calls() if called(c) == "run" and c.args]
    if loop is None or not runs or not any(isinstance(n, ast.Call) for n in ast.walk(runs[0].args[0])):
        return None
    fetch = runs[0].args[0]
    fed = sorted(names(fetch) & changing(loop))
    built = place.source(fetch)
    for name in fed:
        built = re.sub(rf"\b{name}\b", f"{name}_in", built)
    feeds = [f"{name}_in = tf.compat.v1.placeholder(tf.float32)" for name in fed]
    entries = ", ".join(f"{name}_in: {name}" for name in fed)
    edits = [(fetch, "op")]
    if fed and len(runs[0].args) > 1:
        given = place.source(runs[0].args[1])
        edits.append((runs[0].args[1], f"{given[:-1]}, {entries}}}"))
    elif fed:
        edits[0] = (fetch, f"op, {{{entries}}}")
    header, after = place.header(loop), place.text(place.stmt, *edits)
    return Change(
        f"{header}\n{indented(place.text(place.stmt))}",
        "\n".join([*feeds, f"op = {built}", header, indented(after)]),
    )


def decorate(place: Place, f: Finding) -> Change | None:
    """What a line of the loop calls, or what the line is in."""
    own = (place.defined(called(call)) for call in place.calls()) if place.loop else ()
    function = next((f for f in own if f is not None), place.function)
    if function is not None and any("tf.function" in place.source(d) for d in function.decorator_list):
        return None
    if function is None or function.name.startswith("__") or isinstance(function, ast.AsyncFunctionDef):
        return None
    before = place.decorated(function)
    return Change(before, f"@tf.function\n{before}")


def vectorize(place: Place, f: Finding) -> Change | None:
    for call in place.calls():
        if called(call) == "map_fn":
            keep = [place.source(a) for a in call.args[:2]]
            keep += [f"{k.arg}={place.source(k.value)}" for k in call.keywords if k.arg in ("fn", "elems")]
            new = f"tf.vectorized_map({', '.join(keep)})"
            return Change(place.text(place.stmt), place.text(place.stmt, (call, new)))
    return None


def call_directly(place: Place, f: Finding) -> Change | None:
    """predict, fit and evaluate on a small input."""
    for call in place.calls():
        if not isinstance(call.func, ast.Attribute) or not call.args:
            continue
        model, given = place.source(call.func.value), [place.source(a) for a in call.args]
        new = {
            "predict": f"{model}({given[0]}, training=False).numpy()",
            "fit": f"{model}.train_on_batch({', '.join(given[:2])})",
            "evaluate": f"{model}.test_on_batch({', '.join(given[:2])})",
        }.get(call.func.attr)
        if new is not None:
            return Change(place.text(place.stmt), place.text(place.stmt, (call, new)))
    return None


def map_in_parallel(place: Place, f: Finding) -> Change | None:
    stmt = place.stmt
    if not isinstance(stmt, ast.Assign):
        return None
    for call in place.calls():
        if called(call) == "map" and not any(k.arg == "num_parallel_calls" for k in call.keywords):
            new = f"{place.source(call)[:-1]}, num_parallel_calls=tf.data.AUTOTUNE)"
            after = place.text(stmt, (call, new))
            name = place.source(stmt.targets[0])
            return Change(
                place.text(stmt),
                f"{after}\n...\n{name} = {name}.prefetch(tf.data.AUTOTUNE)  # at its end",
            )
    return None


def keep_as_tensors(place: Place, f: Finding) -> Change | None:
    """What is only collected stays a tensor until after the loop."""
    for call in place.calls():
        if called(call) == "append" and isinstance(call.func, ast.Attribute) and call.args:
            pulled, into = call.args[0], place.source(call.func.value)
            if isinstance(pulled, ast.Call) and called(pulled) in ("numpy", "float"):
                of = pulled.func.value if isinstance(pulled.func, ast.Attribute) else pulled.args[0]
                after = place.text(place.stmt, (pulled, place.source(of)))
                return Change(place.text(place.stmt), f"{after}\n# after the loop: np.array({into})")
    return None


def copy_once(place: Place, f: Finding) -> Change | None:
    """The array becomes a tensor before the loop, and a piece of it is taken in the loop."""
    loop = place.loop
    for call in place.calls():
        if loop is None or called(call) not in ("constant", "convert_to_tensor") or not call.args:
            continue
        part = call.args[0]
        if not names(part) & changing(loop):
            return hoist(place, f)
        if isinstance(part, ast.Subscript) and not names(part.value) & changing(loop):
            base = place.source(part.value)
            new = f"{named(part.value)}_on_device"
            piece = place.source(part).replace(base, new, 1)
            header, text = place.header(loop), indented(place.text(place.stmt))
            after = indented(place.text(place.stmt, (call, piece)))
            return Change(
                f"{header}\n{text}", f"{new} = {place.source(call.func)}({base})\n{header}\n{after}"
            )
    return None


def do_rarely(place: Place, f: Finding) -> Change | None:
    """Every hundredth turn, where the loop counts them."""
    loop = place.loop
    target = getattr(loop, "target", None)
    counts = isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and called(loop.iter)
    if counts == "enumerate" and isinstance(target, ast.Tuple):
        target = target.elts[0]
    if counts not in ("range", "enumerate") or not isinstance(target, ast.Name):
        return None
    text = place.text(place.stmt)
    return Change(text, f"if {target.id} % 100 == 0:\n{indented(text)}")


def keep_less(place: Place, f: Finding) -> Change | None:
    """The number instead of the tensor; or only the newest entries."""
    entry = float(str(f.evidence.get("entry_bytes") or 0.0))
    for call in place.calls():
        if f.cause == "tensor-leak" and 0 < entry <= _SCALAR and called(call) == "append" and call.args:
            new = f"float({place.source(call.args[0])})"
            return Change(place.text(place.stmt), place.text(place.stmt, (call.args[0], new)))
    made = place.assigned(re.sub(r"\[[^\]]*\]", "", f.symbol).rpartition(".")[2])
    if made is None or not isinstance(made.value, ast.List) or made.value.elts:
        return None
    use = place.text(place.stmt)
    new = place.text(made, (made.value, "collections.deque(maxlen=100)"))
    return Change(f"{place.text(made)}\n...\n{use}", f"{new}  # the newest 100\n...\n{use}")


def collect_once(place: Place, f: Finding) -> Change | None:
    loop = place.loop
    if loop is None or not any(called(c) == "collect" for c in place.calls()):
        return None
    header, text = place.header(loop), place.text(place.stmt)
    return Change(f"{header}\n    ...\n{indented(text)}", f"{text}\ngc.freeze()\n{header}\n    ...")


def loop_in_graph(place: Place, f: Finding) -> Change | None:
    """`range` becomes `tf.range`, in the loop around the line."""
    loop = place.stmt if isinstance(place.stmt, ast.For) else place.loop
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call) or called(loop.iter) != "range":
        return None
    before = place.header(loop)
    return Change(before, before.replace("range(", "tf.range(", 1))
