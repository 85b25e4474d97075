"""`tfslowtop [options] --attach SCRIPT ARGS`: a user's own script, unmodified."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .sources.script import ScriptSource

USAGE = 2


def attach(options: argparse.Namespace, argv: Sequence[str]) -> int:
    """`argv` is everything after --attach."""
    from .sources.launch import misplaced_options, prepare
    from .sources.script import ScriptSource
    from .sources.source import SourceError

    hint = misplaced_options(argv)
    if hint:
        print(f"tfslowtop: {hint}", file=sys.stderr)
    try:
        # Refused before any screen opens: no such file, a syntax error, an interpreter that is too old.
        prepare(argv, python=options.python, step=options.step, env=None, cwd=None, address="", token="")
        if options.headless or options.json:
            return _headless(options, argv)
        output = str(Path(options.output).resolve()) if options.output else None
        env = dict(os.environ)  # as it is now: what we set for our own screen is not the script's business
        return _screen(
            options,
            lambda: ScriptSource(argv, python=options.python, step=options.step, env=env, output_file=output),
        )
    except SourceError as error:
        print(f"tfslowtop: {error}", file=sys.stderr)
        return USAGE


def reattach(options: argparse.Namespace) -> int:
    """Takes up a script that runs on after its watcher has gone."""
    from .sources.script import ScriptSource, pick_session
    from .sources.source import SourceError

    try:
        session = pick_session(options.reattach or None)
        return _screen(options, lambda: ScriptSource.reattach(session))
    except SourceError as error:
        print(f"tfslowtop: {error}", file=sys.stderr)
        return USAGE


def _screen(options: argparse.Namespace, make_source: Callable[[], ScriptSource]) -> int:
    if not sys.stdout.isatty() or not sys.stdin.isatty():
        print("tfslowtop: the app needs a terminal; --headless does not.", file=sys.stderr)
        return USAGE
    os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
    from .ui.attach import AttachApp

    app = AttachApp(make_source, ascii=options.ascii, readonly=options.readonly)
    app.run()
    if app.farewell:
        print(app.farewell)
    return app.script_code if app.return_code in (0, None) else app.return_code


def _headless(options: argparse.Namespace, argv: Sequence[str]) -> int:
    from .export.attach import HeadlessScript, report, summary, write
    from .sources.script import ScriptSource

    source = ScriptSource(
        argv,
        python=options.python,
        step=options.step,
        headless=True,
        stdout_to_stderr=options.json == "-",
    )
    headless = HeadlessScript(source, max_seconds=options.max_seconds)
    view, session = headless.go()
    print(summary(argv, view, session, headless.stopped), file=sys.stderr)
    if options.json:
        write(report(argv, options.python or sys.executable, view, session), options.json)
    code = view.ended.code if view.ended else 0
    if headless.stopped:
        return 0
    return code if code >= 0 else 128 - code
