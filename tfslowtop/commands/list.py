"""`tfslowtop list`: print the catalogue of scenarios."""

from __future__ import annotations

import argparse

from .output import print_json, print_text
from .parser import Parser

HELP = "list the scenarios"


def add_arguments(parser: Parser) -> None:
    parser.description = "List the scenarios: id, kind and title."
    parser.add_argument("--json", action="store_true", help="print everything about them as JSON")


def run(options: argparse.Namespace) -> int:
    from ..catalogue.find import all_entries

    entries = all_entries()
    if options.json:
        from ..export.scenarios import listing

        return print_json(listing(entries))
    width = max(len(entry.id) for entry in entries)
    kinds = [entry.scenario.kind if entry.scenario else "broken" for entry in entries]
    rows = [f"{e.id:{width}}  {kind:16}  {e.title}" for e, kind in zip(entries, kinds, strict=True)]
    return print_text("\n".join(rows))
