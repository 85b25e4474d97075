"""The command line. Nothing heavy is imported before it is needed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from . import __version__

#: Exit codes: 0 is well, 2 is wrong usage.
USAGE = 2

_EPILOG = """\
In the app: enter starts a scenario, 1-9 toggle its fixes, space pauses, ? shows every key, q quits.
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tfslowtop",
        description="Why is TensorFlow or NumPy code slow, slower, or eating memory? See it live.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("scenario", nargs="?", help="start this scenario: an id of the catalogue, or a file of your own")
    parser.add_argument("-p", "--param", action="append", default=[], metavar="NAME=VALUE", help="set a parameter")
    parser.add_argument("--in-process", action="store_true", help="run the kernel in a thread of this process")
    parser.add_argument("--ascii", action="store_true", help="draw with 7-bit characters only")
    parser.add_argument("--version", action="version", version=f"tfslowtop {__version__}")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(argv)
    from .scenario import ScenarioError

    try:
        return _open(options)
    except ScenarioError as error:
        print(f"tfslowtop: {error}", file=sys.stderr)
        return USAGE


def _open(options: argparse.Namespace) -> int:
    """The app."""
    from .catalogue import all_entries, find

    start = find(options.scenario) if options.scenario else None
    params = _params(options.param)
    if start is not None and start.scenario is not None:
        start.scenario.values(params)  # a bad value is told before the screen opens
    if not sys.stdout.isatty() or not sys.stdin.isatty():
        print("tfslowtop: the app needs a terminal.", file=sys.stderr)
        return USAGE
    os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")  # read when Textual is imported
    # Textual takes about 270 ms to import.
    from .ui.app import Options, TfslowtopApp

    entries = all_entries()
    if start is not None and all(entry.path != start.path for entry in entries):
        entries = [start, *entries]
    app = TfslowtopApp(Options(entries, start, options.in_process, options.ascii, params))
    app.run()
    return app.return_code or 0


def _params(texts: Sequence[str]) -> dict[str, str]:
    from .scenario import ScenarioError

    params = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ScenarioError(f"-p {text}: a parameter is written NAME=VALUE.")
        params[name] = value
    return params


if __name__ == "__main__":
    sys.exit(main())
