"""`tfslowtop --attach SCRIPT ARGS` and `--reattach`: watch a user's own script, unmodified."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..own_error import describe_end, report_bug, say
from .headless import add_watch_options, run_headless, warn_of_misplaced
from .numbers import positive_count
from .open import prepare_screen, use_ascii
from .parser import Parser

if TYPE_CHECKING:
    from ..agent.protocol.events import Ended
    from ..sources.script import ScriptSource

#: Seconds between two attempts to reach a script that may have started just now, and how many there are.
_RETRY_SECONDS, _RETRIES = 0.1, 20


#: Options that make sense only when a script is started.
_WITH_ATTACH = ("headless", "json", "max_seconds", "python", "step", "output")


def add_arguments(parser: Parser) -> None:
    before = {*parser.options, "--attach"}
    group = parser.add_argument_group("your own script")
    group.add_argument(
        "--attach",
        metavar="SCRIPT ...",
        help="run a script and watch it; everything after --attach is its command line, as after `python`",
    )
    group.add_argument(
        "--reattach",
        nargs="?",
        type=positive_count,
        const=0,
        metavar="PID",
        help="watch a script again that kept running after its tfslowtop ended",
    )
    group.add_argument("--headless", action="store_true", help="no screen: print a summary on standard error")
    add_watch_options(group, max_seconds="with --headless: stop it after N seconds, with Ctrl-C first")
    group.add_argument("--output", metavar="FILE", help="write its output to this file as well")
    parser.set_defaults(ours=set(parser.options) - before)


def split(arguments: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """Split a command line into our own part and the script's, which is everything after --attach."""
    for place, word in enumerate(arguments):
        if word == "--attach":
            return list(arguments[:place]), list(arguments[place + 1 :])
        if word.startswith("--attach="):
            return list(arguments[:place]), [word.partition("=")[2], *arguments[place + 1 :]]
    return list(arguments), None


def run(options: argparse.Namespace) -> int:
    _refuse_combinations(options)
    if options.script is None:
        return _reattach(options)
    warn_of_misplaced(options.script, options.ours, before="--attach")
    if options.headless or options.json:
        return run_headless(options, lambda outcome: outcome.code)
    return _watch(options)


def is_wanted(options: argparse.Namespace) -> bool:
    """Return whether the options ask for a script; raise UsageError if they are for one and name none."""
    if options.script is not None or options.reattach is not None:
        return True
    given = _given(options, *_WITH_ATTACH)
    if given:
        raise UsageError(
            f"{given} needs --attach SCRIPT; to measure a scenario without a screen, use `tfslowtop run`."
        )
    return False


def _refuse_combinations(options: argparse.Namespace) -> None:
    if options.scenario:
        raise UsageError(f"Choose either the scenario {options.scenario} or a script of your own, not both.")
    of_scenarios = _given(options, "param", "in_process", "demo")
    if of_scenarios:
        raise UsageError(f"{of_scenarios} is for scenarios; leave it out to watch a script.")
    headless = options.headless or options.json
    if options.script is not None and options.reattach is not None:
        raise UsageError("Use --attach to start a script or --reattach to find a running one, not both.")
    if options.script is None:
        given = _given(options, *_WITH_ATTACH)
        if given:
            raise UsageError(f"{given} does not go with --reattach; give it when you start the script.")
    elif options.output and headless:
        raise UsageError(
            "--output is for the app; without a screen, redirect the script's output in the shell (> FILE)."
        )
    elif options.max_seconds and not headless:
        raise UsageError("--max-seconds needs --headless or --json; in the app, press q to stop the script.")


def _given(options: argparse.Namespace, *names: str) -> str:
    """Return the first of these options that was given, as one writes it; empty if none was."""
    return next((f"--{name.replace('_', '-')}" for name in names if getattr(options, name)), "")


def _watch(options: argparse.Namespace) -> int:
    from ..export.files import ResultFile
    from ..sources.script import ScriptSource

    output = str(Path(options.output).resolve()) if options.output else None
    env = dict(os.environ)  # as it is now: what we set for our own screen is not for the script

    def make_source() -> ScriptSource:
        return ScriptSource(
            options.script, python=options.python, step=options.step, env=env, output_file=output
        )

    first = make_source()
    first.check()  # before a screen opens
    if output is not None:
        ResultFile(output)
    checked = [first]
    prepare_screen("--headless works without one.")
    return _open_app(options, lambda: checked.pop() if checked else make_source())


def _reattach(options: argparse.Namespace) -> int:
    from ..sources.script import ScriptSource, pick_session

    session = pick_session(options.reattach or None)
    prepare_screen("run this in one.")
    return _open_app(options, lambda: ScriptSource.reattach(session))


def _open_app(options: argparse.Namespace, make_source: Callable[[], ScriptSource]) -> int:
    from ..ui.script_app import ScriptApp

    app = ScriptApp(make_source, ascii=use_ascii(options), readonly=options.readonly)
    app.run()
    if app.exit_report and app.own_error is None:
        say(app.exit_report)
    if app.farewell:
        print(app.farewell)
    if app.own_error is not None:
        crashed = app.watched_pid if not app.farewell else None
        ended = app.ended or (_follow(crashed) if crashed is not None else None)
        return report_bug(app.own_error, describe_end(ended.code) if ended else "")
    return app.script_code if app.return_code in (0, None) else app.return_code


def _follow(pid: int) -> Ended | None:
    """After a crash of the app, pass the script's output straight to the terminal until it ends."""
    from ..agent.protocol.events import Ended, Output

    source = _take_over(pid)
    if source is None:
        return None
    signal.signal(signal.SIGINT, lambda number, frame: source.interrupt())
    try:
        while True:
            for event in source.events(0.2):
                if isinstance(event, Output):
                    sys.stdout.write(event.text)
                    sys.stdout.flush()
                elif isinstance(event, Ended):
                    return event
    finally:
        source.close()


def _take_over(pid: int) -> ScriptSource | None:
    from ..sources.script import ScriptSource, pick_session
    from ..sources.source import SourceError

    columns, rows = shutil.get_terminal_size()
    for _ in range(_RETRIES):
        try:
            source = ScriptSource.reattach(pick_session(pid), size=(rows, columns))
            source.start()
            return source
        except SourceError:
            time.sleep(_RETRY_SECONDS)  # it may have started just now
    return None
