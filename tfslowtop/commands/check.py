"""`tfslowtop check [options] SCRIPT ARGS`: a script watched in CI; the exit code says whether it passed."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..own_error import say, tell
from .numbers import count, positive

if TYPE_CHECKING:
    from ..export.headless import Outcome
    from ..state.session import Session
    from ..state.view import View

#: 0 passed, 1 a limit was exceeded, 2 wrong usage, 3 nothing to judge: the script failed, or had no step.
PASSED, EXCEEDED, USAGE, NOT_JUDGED = 0, 1, 2, 3

_UNITS = {
    "": 1.0,
    "B": 1.0,
    "KB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "KIB": 1024.0,
    "MIB": 1024.0**2,
    "GIB": 1024.0**3,
}
_EPILOG = """\
exit codes: 0 passed · 1 a limit was exceeded or a finding is not allowed · 2 wrong usage ·
3 the script itself failed (its own exit code is printed), or no step was seen in it ·
70 a bug in tfslowtop, whatever the script did: nothing is judged.

Without any limit, every finding about the program fails the check; what the machine does to it only if named
by --fail-on. Options stand before the script; all after it is its own.
"""


@dataclass(frozen=True, slots=True)
class Limits:
    retraces: int | None
    slope: float | None
    """Percent per 100 steps."""
    leak: float | None
    """Bytes per 100 steps."""
    causes: frozenset[str]


def check(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    if not options.script:
        print("tfslowtop check: Nothing to run: name a script.", file=sys.stderr)
        return USAGE
    try:
        limits = _limits(options)
    except ValueError as error:
        print(f"tfslowtop check: {error}", file=sys.stderr)
        return USAGE
    from ..export.headless import HeadlessScript
    from ..sources.launch import prepare
    from ..sources.source import SourceError

    argv = list(options.script)
    try:
        prepare(argv, python=options.python, step=options.step, env=None, cwd=None, address="", token="")
        outcome = HeadlessScript(
            argv, python=options.python, step=options.step, json=options.json, max_seconds=options.max_seconds
        ).go()
    except SourceError as error:
        print(f"tfslowtop check: {error}", file=sys.stderr)
        return USAGE
    try:
        return _verdict(limits, outcome, allow_nothing=options.allow_nothing)
    except Exception as error:
        return tell(error, outcome.ending, "tfslowtop check")


def _verdict(limits: Limits, outcome: Outcome, *, allow_nothing: bool) -> int:
    if outcome.error is not None or outcome.view is None:
        return tell(outcome.error or ValueError("no view"), outcome.ending, "tfslowtop check")
    if outcome.code:
        say(f"check: the script itself failed with exit code {outcome.code}; nothing is judged.")
        return NOT_JUDGED
    broken = judge(limits, outcome.view, outcome.session)
    for line in broken:
        say(f"check: FAILED: {line}")
    if broken:
        return EXCEEDED
    if not allow_nothing and not any(s.is_step for s in outcome.view.streams):
        say(
            "check: no step was seen, so there is nothing to judge; mark one with tfslowtop.step(), name it "
            "with --step, or accept this with --allow-nothing."
        )
        return NOT_JUDGED
    say("check: passed")
    return PASSED


def judge(limits: Limits, view: View, session: Session) -> list[str]:
    """What exceeds its limit, a sentence each."""
    broken = []
    if limits.retraces is not None:
        broken += [
            f"{f.function} was retraced {f.avoidable} times; {limits.retraces} are allowed."
            for f in session.retraces.functions.values()
            if f.avoidable > limits.retraces
        ]
    step = next((s for s in view.streams if s.is_step), None)
    if limits.slope is not None and step is not None and step.trend is not None:
        t = step.trend
        if t.direction == "rising" and t.percent > limits.slope:
            broken.append(
                f"the step gets slower by {t.percent:.1f} % per 100 steps; {limits.slope:g} % are allowed."
            )
    if limits.leak is not None:
        memory = view.segments[-1].memory if view.segments else None
        if memory is not None and memory.direction == "rising" and 100 * memory.slope > limits.leak:
            broken.append(
                f"memory grows by {100 * memory.slope / 1e6:.2f} MB per 100 steps; "
                f"{limits.leak / 1e6:g} MB are allowed."
            )
    named = [f for f in view.findings if f.cause in limits.causes]
    return broken + [f"{f.cause} at {f.place or 'the machine'}: {f.sentence}" for f in named]


def _limits(options: argparse.Namespace) -> Limits:
    from ..diagnosis.engine import MACHINE
    from ..diagnosis.texts import TEXTS

    some = any(value is not None for value in (options.max_retraces, options.max_slope, options.max_leak))
    if options.fail_on is not None:
        causes = frozenset(name.strip() for name in options.fail_on.split(",") if name.strip())
        if not causes:
            raise ValueError("--fail-on needs at least one cause, or `any`.")
        unknown = sorted(causes - set(TEXTS) - {"any"})
        if unknown:
            raise ValueError(f"--fail-on {unknown[0]}: there is no such cause. Causes: {', '.join(TEXTS)}.")
        causes = frozenset(TEXTS) if "any" in causes else causes
    else:
        causes = frozenset() if some else frozenset(TEXTS).difference(MACHINE)
    return Limits(
        options.max_retraces,
        _percent(options.max_slope) if options.max_slope is not None else None,
        _bytes(options.max_leak) if options.max_leak is not None else None,
        causes,
    )


def _percent(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%?", text)
    if not match:
        raise ValueError(f"--max-slope {text}: write percent per 100 steps, as 5%.")
    return _finite(match[1], "--max-slope")


def _bytes(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", text)
    if not match or match[2].upper() not in _UNITS:
        raise ValueError(f"--max-leak {text}: write bytes per 100 steps, as 1MB.")
    return _finite(match[1], "--max-leak") * _UNITS[match[2].upper()]


def _finite(digits: str, option: str) -> float:
    value = float(digits)
    if value > 1e18:
        raise ValueError(f"{option} {digits[:20]}…: that is no limit; the largest is 1e18.")
    return value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tfslowtop check",
        usage="tfslowtop check [options] SCRIPT [ARGS ...]",
        description="Run a script, watched; fail when it retraces, slows down, leaks, or does what is named.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--max-retraces", type=count, metavar="N", help="avoidable traces of one function")
    parser.add_argument("--max-slope", metavar="P%", help="how much slower a step may get per 100 steps")
    parser.add_argument("--max-leak", metavar="SIZE", help="how much memory may grow per 100 steps")
    parser.add_argument("--fail-on", metavar="A,B", help="causes that fail the check; `any` for all")
    parser.add_argument(
        "--max-seconds",
        type=positive(float),
        default=0.0,
        metavar="N",
        help="stop the script N s after it was started, with Ctrl-C first",
    )
    parser.add_argument(
        "--allow-nothing", action="store_true", help="pass even if no step was seen, so nothing was judged"
    )
    parser.add_argument("--json", metavar="FILE", help="write what was found as JSON (- is standard output)")
    parser.add_argument("--python", metavar="PYTHON", help="the interpreter to run it with")
    parser.add_argument("--step", metavar="NAME|FILE:LINE", help="what counts as one step")
    parser.add_argument("script", nargs=argparse.REMAINDER, help="the script and its own arguments")
    return parser
