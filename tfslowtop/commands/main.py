"""The command line. Nothing heavy is imported before it is needed."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
from collections.abc import Callable, Sequence

from .. import __version__
from ..own_error import OWN_ERROR, say, tell
from .numbers import positive

#: Exit codes: 0 is well, 1 is a scenario that failed, 2 is wrong usage; own_error.OWN_ERROR is a bug of ours.
FAILED, USAGE = 1, 2

_EPILOG = """\
examples:
  tfslowtop                              the catalogue of scenarios
  tfslowtop --attach train.py --lr 0.1   your own script, unmodified

commands without a terminal (each has --help):
  tfslowtop list              the catalogue of scenarios
  tfslowtop run ID            one scenario, measured; --ab compares it with its fixed twin
  tfslowtop verify            all scenarios; the table of claims and verdicts
  tfslowtop check SCRIPT      your own script in CI: fails when it retraces, slows down or leaks

exit codes:
  the script's own with --attach (128 + N if signal N ended it; 0 if --max-seconds ended it), otherwise
  0 success, 1 a scenario failed, 2 wrong usage, 130 interrupted, and
  70 a bug in tfslowtop: the script still runs to its end, and the message says how it ended

In the app: enter starts a scenario, 1-9 toggle its fixes, space pauses, ? shows every key, q quits.
"""


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    commands: dict[str, Callable[[Sequence[str]], int]] = {
        "list": _list,
        "run": _run,
        "verify": _verify,
        "check": _check,
    }
    from ..scenario import ScenarioError  # the API alone: 10 ms

    _print_in_any_locale()
    try:
        command = commands.get(arguments[0]) if arguments else None
        return command(arguments[1:]) if command else _open(arguments)
    except ScenarioError as error:
        from ..clean import clean

        print(f"tfslowtop: {clean(str(error))}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        from ..sources.source import SourceError

        if not isinstance(error, SourceError):
            return tell(error)
        say(f"tfslowtop: {error}")
        return USAGE


def _print_in_any_locale() -> None:
    """What the terminal's encoding lacks is escaped, not an error: a sign, or a byte of a file's name."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _can_print(text: str) -> bool:
    """Whether the terminal's encoding has it; the app is drawn on standard error."""
    try:
        text.encode((sys.__stderr__ and sys.__stderr__.encoding) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tfslowtop",
        usage="tfslowtop [options] [SCENARIO]\n       tfslowtop [options] --attach SCRIPT [ARGS ...]",
        description="Why is TensorFlow or NumPy code slow, slower, or eating memory? See it live.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "scenario", nargs="?", help="start this scenario: an id of the catalogue, or a file of your own"
    )
    _add_params(parser)
    parser.add_argument(
        "--in-process", action="store_true", help="run the kernel in a thread of this process"
    )
    parser.add_argument("--demo", action="store_true", help="play a tour by itself; any key takes over")
    parser.add_argument(
        "--readonly", action="store_true", help="a shared screen: keys that change the run are off"
    )
    parser.add_argument("--ascii", action="store_true", help="draw with 7-bit characters only")
    parser.add_argument("--version", action="version", version=f"tfslowtop {__version__}")
    script = parser.add_argument_group("your own script")
    script.add_argument(
        "--attach", metavar="SCRIPT ...", help="run it and watch it; all that follows is its command line"
    )
    script.add_argument("--python", metavar="PYTHON", help="the interpreter to run it with")
    script.add_argument("--step", metavar="NAME|FILE:LINE", help="what counts as one step")
    script.add_argument("--output", metavar="FILE", help="keep its output in a file, too")
    script.add_argument("--headless", action="store_true", help="no screen: a summary on standard error")
    script.add_argument("--json", metavar="FILE", help="write what was found as JSON (- is standard output)")
    script.add_argument(
        "--max-seconds",
        type=positive(float),
        default=0.0,
        metavar="N",
        help="with --headless: stop it N s after it was started, with Ctrl-C first",
    )
    script.add_argument(
        "--reattach",
        nargs="?",
        type=int,
        const=0,
        metavar="PID",
        help="take up a script whose watcher has gone",
    )
    return parser


def _open(arguments: Sequence[str]) -> int:
    """The app, on a scenario or on a script."""
    arguments, theirs = _split(arguments)
    options = _parser().parse_args(arguments)
    options.ascii = options.ascii or not _can_print("█ · ⣿")
    if theirs is not None or options.reattach is not None:
        from .attach import attach, reattach

        return attach(options, theirs) if theirs is not None else reattach(options)

    from ..catalogue.find import all_entries, find
    from ..scenario import ScenarioError

    if options.headless:
        raise ScenarioError("--headless goes with --attach; a scenario is measured by `tfslowtop run`.")
    start = find(options.scenario) if options.scenario else None
    params = _params(options.param)
    if start is not None and start.scenario is not None:
        start.scenario.values(params)  # a bad value is told before the screen opens
    elif params and start is None:
        raise ScenarioError("-p sets a parameter of a scenario; name the scenario too.")
    if options.readonly and start is None and not options.demo:
        raise ScenarioError("--readonly only looks on; name the scenario to start, or add --demo.")
    from ..ui.usable import trouble_with_terminal

    trouble = trouble_with_terminal()
    if trouble:
        print(f"tfslowtop: {trouble}; `tfslowtop run` works without one.", file=sys.stderr)
        return USAGE
    os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")  # read when Textual is imported
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
            ascii=options.ascii,
            params=params,
            readonly=options.readonly,
            demo=demo,
        )
    )
    app.run()
    return tell(app.own_error) if app.own_error else app.return_code or 0


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """Ours, and everything after --attach, which is the script's."""
    ours = list(arguments)
    if "--attach" not in ours:
        return ours, None
    place = ours.index("--attach")
    return ours[:place], ours[place + 1 :]


def _check(arguments: Sequence[str]) -> int:
    from .check import check

    return check(arguments)


def _list(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="tfslowtop list", description="Print the catalogue of scenarios.")
    parser.add_argument("--json", action="store_true", help="everything, as JSON")
    options = parser.parse_args(arguments)
    from ..catalogue.find import all_entries

    entries = all_entries()
    if options.json:
        from ..export.scenarios import listing

        return _print_json(listing(entries))
    width = max(len(entry.id) for entry in entries)
    kinds = [entry.scenario.kind if entry.scenario else "broken" for entry in entries]
    rows = [f"{e.id:{width}}  {kind:16}  {e.title}" for e, kind in zip(entries, kinds, strict=True)]
    return _print("\n".join(rows))


def _run(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="tfslowtop run", description="Measure one scenario, without a terminal."
    )
    parser.add_argument("scenario", help="an id of the catalogue, or a file of your own")
    _add_params(parser)
    parser.add_argument(
        "--headless", action="store_true", help="accepted for clarity: run never opens a screen"
    )
    parser.add_argument(
        "--iterations", type=positive(int), default=0, metavar="N", help="how long it runs alone"
    )
    parser.add_argument(
        "--seconds", type=positive(float), default=10.0, metavar="S", help="the same in seconds (10)"
    )
    parser.add_argument(
        "--fix", default="", metavar="A,B", help="fixes that are on; with --ab: of the fixed twin"
    )
    parser.add_argument("--ab", action="store_true", help="then compare broken and fixed in shuffled blocks")
    parser.add_argument("--json", action="store_true", help="print JSON on standard output")
    options = parser.parse_args(arguments)
    _leave_on_signals()
    from ..catalogue.find import find
    from ..export.scenarios import Headless, as_json, summary

    fixes = [fix for fix in options.fix.split(",") if fix]
    headless = Headless(
        find(options.scenario), params=_params(options.param), fixes=fixes, compared=options.ab
    )
    result = headless.go(
        iterations=options.iterations, seconds=options.seconds, compare=options.seconds if options.ab else 0.0
    )
    printed = _print_json(as_json(result)) if options.json else _print(summary(result))
    return FAILED if result.failure else printed


def _verify(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="tfslowtop verify",
        description="Run every scenario, alone and against its fixed twin; print the table of verdicts.",
    )
    parser.add_argument("scenario", nargs="*", help="only these")
    parser.add_argument(
        "--seconds", type=positive(float), default=10.0, metavar="S", help="the most for each half (10)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON on standard output")
    options = parser.parse_args(arguments)
    _leave_on_signals()
    from ..catalogue.find import all_entries, find
    from ..export.scenarios import as_json, summary
    from ..export.verify import footnote, machine, table, verify

    entries = [find(name) for name in options.scenario] or all_entries()
    results = verify(entries, lambda result: say(summary(result)), seconds=options.seconds)
    if options.json:
        printed = _print_json({"machine": machine(), "results": [as_json(result) for result in results]})
    else:
        printed = _print(f"{table(results)}\n\n{footnote(results)}")
    if any(result.own_error for result in results):
        return OWN_ERROR
    return FAILED if any(result.failure for result in results) else printed


def _print_json(value: object) -> int:
    from ..export.files import as_json

    return _print(as_json(value))


def _print(result: str | bytes) -> int:
    """Writes to standard output at the end of a command; the exit code."""
    from ..export.files import write_out

    try:
        if isinstance(result, str):
            result = f"{result}\n".encode(sys.stdout.encoding if sys.stdout else "utf-8", "backslashreplace")
        write_out(result)
    except BrokenPipeError:  # `tfslowtop list | head`
        return 0
    except (OSError, ValueError) as error:
        say(f"tfslowtop: Standard output cannot be written: {getattr(error, 'strerror', '') or error}.")
        return FAILED
    return 0


def _leave_on_signals() -> None:
    """SIGTERM and SIGHUP end a measurement as Ctrl-C does: with its process, and with no directory left."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:  # nohup's SIGHUP stays ignored
            signal.signal(number, lambda number, frame: sys.exit(128 + number))


def _add_params(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-p",
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a parameter of the scenario; gpu is its setting for a GPU box, if it has one",
    )


def _params(texts: Sequence[str]) -> dict[str, str]:
    from ..scenario import ScenarioError

    params = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ScenarioError(f"-p {text}: a parameter is written NAME=VALUE.")
        params[name] = value
    return params


if __name__ == "__main__":
    sys.exit(main())
