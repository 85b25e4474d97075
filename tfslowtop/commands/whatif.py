"""`tfslowtop whatif SCRIPT`: try the fixes that work in a running script, and say what each brings."""

from __future__ import annotations

import argparse

from ..clean import clean
from ..errors import UsageError
from ..exit_codes import FAILED, NOT_JUDGED, SUCCESS
from ..own_error import describe_end, report_bug, say
from .headless import add_watch_options, warn_of_misplaced
from .output import print_bytes, print_text
from .parser import Parser

HELP = "try changes on copies of your script, and measure what each brings"

#: Seconds for all runs, unless --max-seconds says otherwise: time for several changes.
_MAX_SECONDS = 300.0
_EPILOG = """\
Put the options before the script; everything after it belongs to the script.
It runs several times in a private copy of its directory, so that no file of
yours is changed: first watched, with the fixes that work while it runs, then
unchanged, then once for each change that can be written as a patch. What it
prints is compared and not shown; it reads nothing from standard input.

exit codes:
  0   nothing is worth changing
  1   something is worth changing
  2   wrong usage; nothing was started
  3   nothing to judge: the script itself failed
  70  a bug in tfslowtop, whatever the script did
"""


def add_arguments(parser: Parser) -> None:
    parser.usage = "tfslowtop whatif [options] SCRIPT [ARGS ...]"
    parser.description = "Run a script, try what would make it faster, and measure each change."
    parser.epilog = _EPILOG
    add_watch_options(parser, max_seconds=f"take at most N seconds in all (default: {_MAX_SECONDS:.0f})")
    parser.add_argument(
        "--diff", action="store_true", help="print only the patch with all recommended changes"
    )
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
        whatif.go()
    except Exception as error:
        from ..errors import UserError

        if isinstance(error, UserError):
            raise
        return report_bug(error, "")
    if options.diff and options.json != "-":
        say(whatif.table(with_diff=False))
        print_bytes(whatif.diff.encode("utf-8", "backslashreplace"))
    elif options.json != "-":
        print_text(whatif.table())
    if whatif.first.failed and not whatif.trials:
        why = f": {clean(whatif.first.last_words)}" if whatif.first.last_words else ""
        say(f"tfslowtop: {describe_end(whatif.first.code or 0)}{why}")
        return NOT_JUDGED
    return FAILED if whatif.worth_changing else SUCCESS
