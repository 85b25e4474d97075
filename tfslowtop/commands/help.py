"""`tfslowtop help [CAUSE]`: explain a cause, or list all of them."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap

from ..errors import UsageError
from ..suggestions import did_you_mean
from .output import print_text
from .parser import Parser

HELP = "explain a cause; without one, list all causes"

#: Longer lines are hard to read, however wide the terminal is.
_WIDEST = 100


def add_arguments(parser: Parser) -> None:
    parser.usage = "tfslowtop help [CAUSE]"
    parser.description = "Explain a cause that a finding names: what is going on and what to do about it."
    parser.add_argument(
        "topic", metavar="CAUSE", nargs="?", help="a cause, such as retrace-shape; all are listed without one"
    )


def run(options: argparse.Namespace) -> int:
    from ..diagnosis.registry import causes, explain

    known = [str(cause) for cause in causes()]
    width = min(_WIDEST, shutil.get_terminal_size().columns)
    if options.topic is None:
        return print_text(_list(known, width))
    if options.topic in known:
        return print_text(wrap(explain(options.topic), width))
    if options.topic in options.parsers:
        return print_text(options.parsers[options.topic].format_help().rstrip("\n"))
    hint = did_you_mean(options.topic, known, "`tfslowtop help` lists them all.")
    raise UsageError(f"There is no cause called {options.topic!r}; {hint}")


def _list(known: list[str], width: int) -> str:
    """Return a line for each cause: its id and its headline."""
    from ..diagnosis.registry import explain

    column = max(map(len, known))
    lines = []
    for cause in known:
        headline = explain(cause).partition("\n")[0].removeprefix(cause).lstrip(": ")
        line = f"{cause:{column}}  {headline}".rstrip()
        too_long = len(line) > width and sys.stdout is not None and sys.stdout.isatty()
        lines.append(f"{line[: width - 1]}…" if too_long else line)
    return "\n".join([*lines, "", "`tfslowtop help CAUSE` explains one of them."])


def wrap(text: str, width: int) -> str:
    """Wrap the paragraphs, each of which is one line; leave what has several lines, because it is code."""
    paragraphs = text.rstrip("\n").split("\n\n")
    return "\n\n".join(
        paragraph
        if "\n" in paragraph
        else textwrap.fill(paragraph, width, break_long_words=False, break_on_hyphens=False)
        for paragraph in paragraphs
    )
