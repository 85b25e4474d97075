"""`tfslowtop [SCENARIO]`: open the app on the catalogue, or on one scenario."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from .. import __version__
from ..errors import UsageError
from ..own_error import report_bug
from ..suggestions import closest
from .output import can_print
from .parser import Parser
from .scenarios import add_param_option, read_params


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "scenario",
        metavar="SCENARIO",
        nargs="?",
        help="start this scenario: an id from `tfslowtop list`, or a file of your own",
    )
    add_param_option(parser)
    parser.add_argument(
        "--in-process",
        action="store_true",
        help="run the scenario in a thread of tfslowtop's own process, for debugging",
    )
    parser.add_argument("--demo", action="store_true", help="play a guided tour; any key takes over")
    parser.add_argument(
        "--readonly",
        action="store_true",
        help="disable the keys that change the run, for a shared screen",
    )
    parser.add_argument(
        "--no-warm",
        action="store_true",
        help="do not import TensorFlow in the background while no scenario has been started",
    )
    parser.add_argument("--ascii", action="store_true", help="draw with ASCII characters only")
    parser.add_argument("--version", action="version", version=f"tfslowtop {__version__}")
    parser.hint_for_rest = _hint_for_rest


def _hint_for_rest(options: argparse.Namespace, rest: Sequence[str]) -> str:
    """Recognize a mistyped command, and a script without --attach, by what follows them."""
    name = options.scenario
    if name is None or closest(rest[0], ["--attach"]):
        return ""
    if name.endswith(".py"):
        return f"To watch a script of your own, put --attach before it: tfslowtop --attach {name} ..."
    if name in options.commands:
        return f"Write the command first: tfslowtop {name} ..."
    meant = closest(name, options.commands)
    return f"There is no command {name!r}; did you mean {meant[0]}?" if meant else ""


def run(options: argparse.Namespace) -> int:
    from ..catalogue.find import all_entries, find
    from ..catalogue.measured import state_file

    if options.scenario in options.commands:
        raise UsageError(f"Write the command first: tfslowtop {options.scenario} ...")
    start = find(options.scenario, options.commands) if options.scenario else None
    params = read_params(options.param)
    if start is not None and start.scenario is not None:
        start.scenario.values(params)  # refuses a bad value before the screen opens
    elif params and start is None:
        raise UsageError("-p sets a parameter of a scenario; name the scenario too.")
    if options.readonly and start is None and not options.demo:
        raise UsageError("--readonly only watches; name the scenario to start, or add --demo.")
    prepare_screen("`tfslowtop run` works without one.")
    # Textual takes about 270 ms to import.
    from ..ui.scenario_app import Options, ScenarioApp

    if options.in_process:
        from ..sources.inprocess import take_output

        take_output()
    entries = all_entries()
    if start is not None and all(entry.path != start.path for entry in entries):
        entries = [start, *entries]
    demo = ([start.id] if start else []) if options.demo else None
    app = ScenarioApp(
        Options(
            entries,
            start,
            in_process=options.in_process,
            ascii=use_ascii(options),
            params=params,
            readonly=options.readonly,
            demo=demo,
            measured=state_file(),
            warm=not options.no_warm,
        )
    )
    app.run()
    return report_bug(app.own_error) if app.own_error else app.return_code or 0


def prepare_screen(hint: str) -> None:
    """Raise UsageError if the app cannot draw here; `hint` says what to do then."""
    from ..ui.terminal_check import trouble_with_terminal

    trouble = trouble_with_terminal()
    if trouble:
        raise UsageError(f"{trouble}; {hint}")
    os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")  # read when Textual is imported


def use_ascii(options: argparse.Namespace) -> bool:
    return options.ascii or not can_print("█ · ⣿")
