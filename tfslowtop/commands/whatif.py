"""`tfslowtop whatif SCRIPT`: try the fixes that work in a running script, and say what each brings."""

from __future__ import annotations

import argparse

from ..errors import UsageError
from ..exit_codes import FAILED, NOT_JUDGED, SUCCESS
from ..own_error import report_bug, say
from .headless import add_watch_options, warn_of_misplaced
from .output import print_text
from .parser import Parser

HELP = "try fixes in your running script, and measure what each brings"

#: Seconds after which the script is stopped, unless --max-seconds says otherwise: time for several fixes.
_MAX_SECONDS = 300.0
_EPILOG = """\
Put the options before the script; everything after it belongs to the script.
Each fix is switched on and off several times inside the running script; no
file is changed. The script is stopped, with Ctrl-C first, once all fixes are
tried. Its own output goes to standard error.

exit codes:
  0   nothing is worth changing
  1   something is worth changing
  2   wrong usage; nothing was started
  3   nothing to judge: the script itself failed
  70  a bug in tfslowtop, whatever the script did
"""


def add_arguments(parser: Parser) -> None:
    parser.usage = "tfslowtop whatif [options] SCRIPT [ARGS ...]"
    parser.description = "Run a script, try the fixes that work while it runs, and measure what each brings."
    parser.epilog = _EPILOG
    add_watch_options(parser, max_seconds=f"stop the script after N seconds (default: {_MAX_SECONDS:.0f})")
    parser.add_argument(
        "script", metavar="SCRIPT ...", nargs=argparse.REMAINDER, help="the script and its own arguments"
    )
    parser.set_defaults(ours=set(parser.options) - {"--help"})


def run(options: argparse.Namespace) -> int:
    script = options.script[1:] if options.script[:1] == ["--"] else options.script
    if not script:
        raise UsageError("Name a script to try fixes on: tfslowtop whatif SCRIPT [ARGS ...]")
    warn_of_misplaced(script, options.ours, before="the script")
    from ..export.whatif import WhatIf

    whatif = WhatIf(
        script,
        python=options.python,
        step=options.step,
        json=options.json,
        max_seconds=options.max_seconds or _MAX_SECONDS,
    )
    try:
        ended = whatif.go()
    except Exception as error:
        from ..errors import UserError

        if isinstance(error, UserError):
            raise
        return report_bug(error, "")
    if options.json != "-":
        print_text(whatif.table())
    if ended is not None and ended.code and not whatif.was_stopped and not whatif.trials:
        say(f"tfslowtop: {ended.how}")
        return NOT_JUDGED
    return FAILED if whatif.worth_changing else SUCCESS
