"""`tfslowtop verify`: measure every scenario and print the table of verdicts."""

from __future__ import annotations

import argparse

from ..exit_codes import FAILED, OWN_ERROR
from ..own_error import say
from .numbers import positive
from .output import print_json, print_text
from .parser import Parser
from .scenarios import exit_on_signals

HELP = "measure all scenarios and print a table of claims and verdicts"


def add_arguments(parser: Parser) -> None:
    parser.usage = "tfslowtop verify [options] [SCENARIO ...]"
    parser.description = (
        "Measure every scenario, alone and against its fixed version, and print a table\nof verdicts."
    )
    parser.add_argument("scenario", metavar="SCENARIO", nargs="*", help="measure only these")
    parser.add_argument(
        "--seconds",
        type=positive,
        default=10.0,
        metavar="S",
        help="the most time for each half of a measurement (default: 10)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(options: argparse.Namespace) -> int:
    exit_on_signals()
    from ..catalogue.find import all_entries, find
    from ..export.scenarios import as_json, summary
    from ..export.verify import footnote, machine, table, verify

    entries = [find(name) for name in options.scenario] or all_entries()
    results = verify(entries, lambda result: say(summary(result)), seconds=options.seconds)
    if options.json:
        printed = print_json({"machine": machine(), "results": [as_json(result) for result in results]})
    else:
        printed = print_text(f"{table(results)}\n\n{footnote(results)}")
    if any(result.own_error for result in results):
        return OWN_ERROR
    return FAILED if any(result.failure for result in results) else printed
