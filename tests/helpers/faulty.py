"""tfslowtop with a mistake in it: `python -c CODE WHERE AFTER arguments ...`, in a process of its own.

WHERE is `package.module:Class.method`; it works AFTER times and raises from then on.
"""

from __future__ import annotations

import sys

CODE = """
import importlib, sys
where, after = sys.argv.pop(1), int(sys.argv.pop(1))
module, _, path = where.partition(":")
owner = importlib.import_module(module)
*parents, name = path.split(".")
for parent in parents:
    owner = getattr(owner, parent)
whole, calls = getattr(owner, name), []

def faulty(*args, **kwargs):
    calls.append(1)
    if len(calls) > after:
        raise ZeroDivisionError("provoked")
    return whole(*args, **kwargs)

setattr(owner, name, faulty)
from tfslowtop.commands.main import main
sys.exit(main())
"""


def command(where: str, *arguments: str, after: int = 0) -> list[str]:
    return [sys.executable, "-c", CODE, where, str(after), *arguments]
