"""The command line. Nothing heavy is imported before it is needed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from . import __version__

#: Exit codes: 0 is well, 1 is a scenario that failed, 2 is wrong usage.
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
    from .scenario import ScenarioError  # the API alone: 10 ms

    try:
        if arguments and arguments[0] in commands:
            return commands[arguments[0]](arguments[1:])
        return _open(arguments)
    except ScenarioError as error:
        print(f"tfslowtop: {error}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `tfslowtop list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


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
        "--max-seconds", type=_positive(float), default=0.0, metavar="N", help="stop it after N s"
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
    if theirs is not None or options.reattach is not None:
        from .cli_attach import attach, reattach

        return attach(options, theirs) if theirs is not None else reattach(options)

    from .catalogue import all_entries, find
    from .scenario import ScenarioError

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
    if not sys.stdout.isatty() or not sys.stdin.isatty():
        print("tfslowtop: the app needs a terminal; `tfslowtop run` does not.", file=sys.stderr)
        return USAGE
    os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")  # read when Textual is imported
    # Textual takes about 270 ms to import.
    from .ui.app import Options, TfslowtopApp

    if options.in_process:
        from .sources.inprocess import take_output

        take_output()
    entries = all_entries()
    if start is not None and all(entry.path != start.path for entry in entries):
        entries = [start, *entries]
    demo = ([start.id] if start else []) if options.demo else None
    app = TfslowtopApp(
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
    return app.return_code or 0


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """Ours, and everything after --attach, which is the script's."""
    ours = list(arguments)
    if "--attach" not in ours:
        return ours, None
    place = ours.index("--attach")
    return ours[:place], ours[place + 1 :]


def _check(arguments: Sequence[str]) -> int:
    from .cli_check import check

    return check(arguments)


def _list(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="tfslowtop list", description="Print the catalogue of scenarios.")
    parser.add_argument("--json", action="store_true", help="everything, as JSON")
    options = parser.parse_args(arguments)
    from .catalogue import all_entries

    entries = all_entries()
    if options.json:
        from .export.scenarios import listing

        _print_json(listing(entries))
        return 0
    width = max(len(entry.id) for entry in entries)
    for entry in entries:
        kind = entry.scenario.kind if entry.scenario else "broken"
        print(f"{entry.id:{width}}  {kind:16}  {entry.title}")
    return 0


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
        "--iterations", type=_positive(int), default=0, metavar="N", help="how long it runs alone"
    )
    parser.add_argument(
        "--seconds", type=_positive(float), default=10.0, metavar="S", help="the same in seconds (10)"
    )
    parser.add_argument(
        "--fix", default="", metavar="A,B", help="fixes that are on; with --ab: of the fixed twin"
    )
    parser.add_argument("--ab", action="store_true", help="then compare broken and fixed in shuffled blocks")
    parser.add_argument("--json", action="store_true", help="print JSON on standard output")
    options = parser.parse_args(arguments)
    from .catalogue import find
    from .export.scenarios import Headless, as_json, summary

    fixes = [fix for fix in options.fix.split(",") if fix]
    headless = Headless(
        find(options.scenario), params=_params(options.param), fixes=fixes, compared=options.ab
    )
    result = headless.go(
        iterations=options.iterations, seconds=options.seconds, compare=options.seconds if options.ab else 0.0
    )
    if options.json:
        _print_json(as_json(result))
    else:
        print(summary(result))
    return FAILED if result.failure else 0


def _verify(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="tfslowtop verify",
        description="Run every scenario, alone and against its fixed twin; print the table of verdicts.",
    )
    parser.add_argument("scenario", nargs="*", help="only these")
    parser.add_argument(
        "--seconds", type=_positive(float), default=10.0, metavar="S", help="the most for each half (10)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON on standard output")
    options = parser.parse_args(arguments)
    from .catalogue import all_entries, find
    from .export.scenarios import as_json, summary
    from .export.verify import footnote, machine, table, verify

    entries = [find(name) for name in options.scenario] or all_entries()
    results = verify(entries, lambda result: print(summary(result), file=sys.stderr), seconds=options.seconds)
    if options.json:
        _print_json({"machine": machine(), "results": [as_json(result) for result in results]})
    else:
        print(f"{table(results)}\n\n{footnote(results)}")
    return FAILED if any(result.failure for result in results) else 0


def _print_json(value: object) -> None:
    import json

    from .export.numbers import known

    print(json.dumps(known(value), indent=2, ensure_ascii=False))


def _add_params(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-p",
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a parameter of the scenario; gpu is its setting for a GPU box, if it has one",
    )


def _positive(kind: Callable[[str], float]) -> Callable[[str], float]:
    def parse(text: str) -> float:
        value = kind(text)
        if not value > 0:
            raise argparse.ArgumentTypeError("must be more than 0")
        return value

    parse.__name__ = "number"
    return parse


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
