"""What the commands that run scenarios share."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence

from ..errors import UsageError


def add_param_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-p",
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a parameter of the scenario; the value `gpu` stands for its setting on a machine with a "
        "GPU, if it has one",
    )


def read_params(texts: Sequence[str]) -> dict[str, str]:
    """Return the parameters that were given with -p, by name."""
    params = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"-p {text}: write a parameter as NAME=VALUE.")
        params[name] = value
    return params


def exit_on_signals() -> None:
    """Let SIGTERM and SIGHUP end a measurement as Ctrl-C does, so that no process or directory is left."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:  # nohup's SIGHUP stays ignored
            signal.signal(number, lambda number, frame: sys.exit(128 + number))
