"""`tfslowtop [options] --attach SCRIPT ARGS`: a user's own script, unmodified."""

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

from ..agent.protocol.events import Ended
from ..own_error import describe_end, tell

if TYPE_CHECKING:
    from ..sources.script import ScriptSource

USAGE = 2


def attach(options: argparse.Namespace, argv: Sequence[str]) -> int:
    """`argv` is everything after --attach."""
    from ..clean import clean
    from ..export.files import ResultFile
    from ..sources.launch import misplaced_options, prepare
    from ..sources.script import ScriptSource
    from ..sources.source import SourceError

    hint = misplaced_options(argv)
    if hint:
        print(f"tfslowtop: {clean(hint)}", file=sys.stderr)
    try:
        _refuse(options)
        # Refused before any screen opens: no such file, a syntax error, an interpreter that is too old.
        prepare(argv, python=options.python, step=options.step, env=None, cwd=None, address="", token="")
        if options.headless or options.json:
            return _headless(options, argv)
        output = str(Path(options.output).resolve()) if options.output else None
        if output is not None:
            ResultFile(output)
        env = dict(os.environ)  # as it is now: what we set for our own screen is not the script's business
        return _screen(
            options,
            lambda: ScriptSource(argv, python=options.python, step=options.step, env=env, output_file=output),
        )
    except SourceError as error:
        print(f"tfslowtop: {error}", file=sys.stderr)
        return USAGE


def _refuse(options: argparse.Namespace) -> None:
    """Options that do not go together."""
    from ..sources.source import SourceError

    headless = options.headless or options.json
    if options.output and headless:
        raise SourceError(
            "--output is for the app. Without it the script writes to your own standard output: "
            "redirect that in the shell (> FILE)."
        )
    if options.max_seconds and not headless:
        raise SourceError("--max-seconds needs --headless or --json; in the app, q stops the script.")


def reattach(options: argparse.Namespace) -> int:
    """Takes up a script that runs on after its watcher has gone."""
    from ..sources.script import ScriptSource, pick_session
    from ..sources.source import SourceError

    try:
        session = pick_session(options.reattach or None)
        return _screen(options, lambda: ScriptSource.reattach(session))
    except SourceError as error:
        print(f"tfslowtop: {error}", file=sys.stderr)
        return USAGE


def _screen(options: argparse.Namespace, make_source: Callable[[], ScriptSource]) -> int:
    from ..ui.usable import trouble_with_terminal

    trouble = trouble_with_terminal()
    if trouble:
        print(f"tfslowtop: {trouble}; --headless works without one.", file=sys.stderr)
        return USAGE
    os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
    from ..ui.script_app import ScriptApp

    app = ScriptApp(make_source, ascii=options.ascii, readonly=options.readonly)
    app.run()
    if app.farewell:
        print(app.farewell)
    if app.own_error is not None:
        crashed = app.watched_pid if not app.farewell else None
        ended = app.ended or (_follow(crashed) if crashed is not None else None)
        return tell(app.own_error, describe_end(ended.code) if ended else "")
    return app.script_code if app.return_code in (0, None) else app.return_code


def _follow(pid: int) -> Ended | None:
    """After a crash of the app: what the script writes goes straight to the terminal until it ends."""
    from ..agent.protocol.events import Output
    from ..sources.script import ScriptSource, pick_session
    from ..sources.source import SourceError

    for attempt in range(20):
        try:
            source = ScriptSource.reattach(pick_session(pid), size=_terminal_size())
            source.start()
            break
        except SourceError:
            time.sleep(0.1 if attempt < 19 else 0)  # it may have begun just now
    else:
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


def _terminal_size() -> tuple[int, int]:
    columns, rows = shutil.get_terminal_size()
    return rows, columns


def _headless(options: argparse.Namespace, argv: Sequence[str]) -> int:
    from ..export.headless import HeadlessScript

    outcome = HeadlessScript(
        argv, python=options.python, step=options.step, json=options.json, max_seconds=options.max_seconds
    ).go()
    return tell(outcome.error, outcome.ending) if outcome.error else outcome.code
