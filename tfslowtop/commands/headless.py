"""Watch a script without a screen: what `--headless` and `check` share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from ..own_error import report_bug, say
from .numbers import positive

if TYPE_CHECKING:
    from ..export.headless import Outcome


def add_watch_options(parser: argparse._ActionsContainer, *, max_seconds: str) -> None:
    """Add the options that any watched script has; `max_seconds` is the help of --max-seconds."""
    parser.add_argument("--python", metavar="PYTHON", help="run it with this interpreter")
    parser.add_argument("--step", metavar="NAME|FILE:LINE", help="count this function or line as the step")
    parser.add_argument("--json", metavar="FILE", help="write the results as JSON (- is standard output)")
    parser.add_argument("--max-seconds", type=positive, default=0.0, metavar="N", help=max_seconds)


def warn_of_misplaced(script: list[str], ours: Collection[str], before: str) -> None:
    """Warn if options of ours stand after the script, where they belong to the script."""
    from ..clean import clean
    from ..sources.launch import misplaced_options

    hint = misplaced_options(script, ours, before)
    if hint:
        say(f"tfslowtop: {clean(hint)}")


def run_headless(options: argparse.Namespace, exit_code: Callable[[Outcome], int]) -> int:
    """Watch `options.script` to its end; `exit_code` makes an exit code of the outcome."""
    from ..export.headless import HeadlessScript

    outcome = HeadlessScript(
        options.script,
        python=options.python,
        step=options.step,
        json=options.json,
        max_seconds=options.max_seconds,
    ).go()
    try:
        if outcome.error is not None:
            raise outcome.error
        return exit_code(outcome)
    except Exception as error:
        return report_bug(error, outcome.ending)
