"""`tfslowtop check SCRIPT`: watch a script in CI; the exit code says whether it passed."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..exit_codes import FAILED, NOT_JUDGED, SUCCESS
from ..own_error import say
from ..suggestions import did_you_mean
from .headless import add_watch_options, run_headless, warn_of_misplaced
from .numbers import count
from .parser import Parser

if TYPE_CHECKING:
    from ..export.headless import Outcome
    from ..export.limits import Limits

HELP = "watch your script in CI; fail if it retraces, slows down or leaks"

#: Larger numbers are typing errors, and infinity would be no limit.
_LARGEST = 1e18
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
Put the options before the script; everything after it belongs to the script.
To run a module: tfslowtop check [options] -- -m package.train

Without any limit, every finding about the program fails the check. Findings
about the machine, such as cpu-contention, only do if --fail-on names them.
`tfslowtop help` lists all causes.

exit codes:
  0   passed
  1   a limit was exceeded, or there was a finding that is not allowed
  2   wrong usage; nothing was started
  3   nothing to judge: the script itself failed, or no step was seen in it
  70  a bug in tfslowtop, whatever the script did
"""


def add_arguments(parser: Parser) -> None:
    parser.usage = "tfslowtop check [options] SCRIPT [ARGS ...]"
    parser.description = (
        "Run a script and watch it; fail if it retraces, slows down, leaks memory or has\n"
        "one of the findings that you name."
    )
    parser.epilog = _EPILOG
    parser.add_argument(
        "--max-retraces", type=count, metavar="N", help="allow N avoidable traces of each function"
    )
    parser.add_argument(
        "--max-slope", metavar="P%", help="allow the step to get P%% slower per 100 steps, as 5%%"
    )
    parser.add_argument(
        "--max-leak", metavar="SIZE", help="allow memory to grow by SIZE per 100 steps, as 1MB"
    )
    parser.add_argument(
        "--fail-on", metavar="A,B", help="fail if there is a finding of these causes; `any` is all of them"
    )
    parser.add_argument("--allow-nothing", action="store_true", help="pass even if no step was seen")
    add_watch_options(parser, max_seconds="stop the script after N seconds, with Ctrl-C first")
    parser.add_argument(
        "script", metavar="SCRIPT ...", nargs=argparse.REMAINDER, help="the script and its own arguments"
    )
    parser.hint_for_rest = _hint_for_rest
    parser.set_defaults(ours=set(parser.options) - {"--help"})


def _hint_for_rest(options: argparse.Namespace, rest: Sequence[str]) -> str:
    if rest[0].startswith("--"):
        return ""
    return f"Put -- before Python's own options: tfslowtop check [options] -- {rest[0]} ..."


def run(options: argparse.Namespace) -> int:
    if options.script[:1] == ["--"]:
        del options.script[0]
    if not options.script:
        raise UsageError("Name a script to check: tfslowtop check [options] SCRIPT [ARGS ...].")
    limits = read_limits(options)
    warn_of_misplaced(options.script, options.ours, before="the script")
    return run_headless(options, lambda outcome: _verdict(limits, outcome, options.allow_nothing))


def _verdict(limits: Limits, outcome: Outcome, allow_nothing: bool) -> int:
    from ..export.limits import judge

    if outcome.code:
        say(f"check: The script itself failed with exit code {outcome.code}, so nothing is judged.")
        return NOT_JUDGED
    assert outcome.view is not None  # only an error leaves none
    broken = judge(limits, outcome.view, outcome.session)
    for line in broken:
        say(f"check: FAILED: {line}")
    if broken:
        return FAILED
    if not allow_nothing and not any(s.is_step for s in outcome.view.streams):
        say(
            "check: No step was seen, so there is nothing to judge; mark one with tfslowtop.step(), name it "
            "with --step, or accept this with --allow-nothing."
        )
        return NOT_JUDGED
    say("check: passed")
    return SUCCESS


def read_limits(options: argparse.Namespace) -> Limits:
    """Return the limits that the options set, or those of a check without any."""
    from ..export.limits import Limits

    some = any(value is not None for value in (options.max_retraces, options.max_slope, options.max_leak))
    if options.fail_on is not None:
        causes = _read_causes(options.fail_on)
    else:
        causes = frozenset() if some else _all_causes(of_machine=False)
    return Limits(
        options.max_retraces,
        read_percent(options.max_slope) if options.max_slope is not None else None,
        read_bytes(options.max_leak) if options.max_leak is not None else None,
        causes,
    )


def _read_causes(text: str) -> frozenset[str]:
    causes = frozenset(name.strip() for name in text.split(",") if name.strip())
    if not causes:
        raise UsageError("--fail-on needs at least one cause, or `any`.")
    known = _all_causes()
    unknown = sorted(causes - known - {"any"})
    if unknown:
        hint = did_you_mean(unknown[0], known, "`tfslowtop help` lists them all.")
        raise UsageError(f"--fail-on {unknown[0]}: there is no such cause; {hint}")
    return known if "any" in causes else causes


def _all_causes(*, of_machine: bool = True) -> frozenset[str]:
    from ..diagnosis.registry import causes

    return frozenset(id for id, cause in causes().items() if of_machine or not cause.is_machines)


def read_percent(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%?", text)
    if not match:
        raise UsageError(f"--max-slope {text}: write percent per 100 steps, such as 5%.")
    return _finite(match[1], "--max-slope")


def read_bytes(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", text)
    if not match or match[2].upper() not in _UNITS:
        raise UsageError(f"--max-leak {text}: write bytes per 100 steps, such as 1MB.")
    return _finite(match[1], "--max-leak") * _UNITS[match[2].upper()]


def _finite(digits: str, option: str) -> float:
    value = float(digits)
    if value > _LARGEST:
        raise UsageError(f"{option} {digits[:20]}…: the largest possible limit is 1e18.")
    return value
