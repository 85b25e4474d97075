"""`tfslowtop run ID`: measure one scenario without a terminal."""

from __future__ import annotations

import argparse

from ..errors import UsageError
from ..exit_codes import FAILED
from .numbers import positive, positive_count
from .output import print_json, print_text
from .parser import Parser
from .scenarios import add_param_option, exit_on_signals, read_params

HELP = "measure one scenario; with --ab, against its fixed version"


def add_arguments(parser: Parser) -> None:
    parser.usage = "tfslowtop run [options] SCENARIO"
    parser.description = "Measure one scenario without a terminal."
    parser.add_argument(
        "scenario", metavar="SCENARIO", nargs="?", help="an id from `tfslowtop list`, or a file of your own"
    )
    add_param_option(parser)
    parser.add_argument(
        "--seconds", type=positive, default=10.0, metavar="S", help="how long to run it (default: 10)"
    )
    parser.add_argument(
        "--iterations",
        type=positive_count,
        default=0,
        metavar="N",
        help="run it for N iterations instead of a time",
    )
    parser.add_argument(
        "--fix",
        default="",
        metavar="A,B",
        help="fixes to turn on; with --ab, the fixes of the fixed version",
    )
    parser.add_argument(
        "--ab",
        action="store_true",
        help="then run an A/B test of the slow against the fixed version, in random order",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a summary")
    parser.add_argument(
        "--headless", action="store_true", help="accepted for clarity: `run` never opens a screen"
    )


def run(options: argparse.Namespace) -> int:
    if options.scenario is None:
        raise UsageError("Name a scenario to run; `tfslowtop list` prints them all.")
    exit_on_signals()
    from ..catalogue.find import find
    from ..export.scenarios import HeadlessScenario, as_json, summary

    fixes = [fix for fix in options.fix.split(",") if fix]
    headless = HeadlessScenario(
        find(options.scenario), params=read_params(options.param), fixes=fixes, compared=options.ab
    )
    result = headless.go(
        iterations=options.iterations, seconds=options.seconds, compare=options.seconds if options.ab else 0.0
    )
    printed = print_json(as_json(result)) if options.json else print_text(summary(result))
    return FAILED if result.failure else printed
