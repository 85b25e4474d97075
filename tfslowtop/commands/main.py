"""The command line: parse it, run one command, and turn errors into a sentence and an exit code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ..errors import UserError
from ..exit_codes import INTERRUPTED, USAGE
from ..own_error import report_bug, say
from . import attach, check, help, list, open, run, verify, whatif
from .output import escape_unprintable
from .parser import Parser

COMMANDS = {"list": list, "run": run, "verify": verify, "check": check, "whatif": whatif, "help": help}

#: The sub-parser of the bare command, which has no name that anybody would type.
_BARE = "[SCENARIO]"

_USAGE = """\
tfslowtop [options] [SCENARIO]
       tfslowtop [options] --attach SCRIPT [ARGS ...]
       tfslowtop COMMAND ..."""
_DESCRIPTION = """\
Watch a TensorFlow or NumPy program live, and see why it is slow, slows down or
uses more and more memory, and at which line."""
_EPILOG = """\
examples:
  tfslowtop --attach train.py --lr 0.1   watch your own script, unmodified
  tfslowtop                              browse the catalogue of slow scenarios
  tfslowtop graph_growth                 watch one of them

commands (each has --help):
{commands}

exit codes:
  With --attach, the script's own: 128 + N if signal N ended it, 0 if
  --max-seconds did. Otherwise:
  0   success
  1   a scenario failed, or `check` found a limit exceeded
  2   wrong usage; nothing was started
  3   `check` had nothing to judge
  70  a bug in tfslowtop; the script still ran to its end, and the message says
      how it ended
  130 interrupted

In the app: Enter starts a scenario, 1-9 toggle its fixes, Space pauses,
? lists all keys, q quits.
"""


def main(argv: Sequence[str] | None = None) -> int:
    escape_unprintable()
    try:
        options = parse(sys.argv[1:] if argv is None else argv)
        code: int = options.run(options)
        return code
    except UserError as error:
        from ..clean import clean

        say(f"tfslowtop: {clean(str(error), lines=error.multiline)}")
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        return report_bug(error)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options, with the command's `run` among them."""
    if arguments and arguments[0] in COMMANDS:
        return build_parser().parse_args(arguments)
    ours, script = attach.split(arguments)
    options = build_parser().parse_args([_BARE, *ours])
    options.script = script
    options.run = attach.run if attach.is_wanted(options) else open.run
    return options


def build_parser() -> Parser:
    """Return the parser of the whole command line; the bare command is a sub-parser too."""
    parser = Parser(prog="tfslowtop", add_help=False)
    parsers = parser.add_subparsers()
    width = max(map(len, COMMANDS))
    listed = "\n".join(f"  {name:{width}}  {module.HELP}" for name, module in COMMANDS.items())
    bare = parsers.add_parser(
        _BARE,
        prog="tfslowtop",
        usage=_USAGE,
        description=_DESCRIPTION,
        epilog=_EPILOG.format(commands=listed),
    )
    open.add_arguments(bare)
    attach.add_arguments(bare)
    bare.set_defaults(commands=COMMANDS)
    for name, module in COMMANDS.items():
        command = parsers.add_parser(name)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    parsers.choices["help"].set_defaults(parsers=parsers.choices)
    return parser
