"""`tfslowtop list`: print the catalogue of scenarios."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from .output import print_json, print_text
from .parser import Parser

if TYPE_CHECKING:
    from ..catalogue.find import Entry

HELP = "list the scenarios"


def add_arguments(parser: Parser) -> None:
    parser.description = "List the scenarios: id, kind and title."
    parser.add_argument("--json", action="store_true", help="print everything about them as JSON")


def run(options: argparse.Namespace) -> int:
    from ..catalogue.find import all_entries

    entries = all_entries()
    if options.json:
        return print_json([_as_data(entry) for entry in entries])
    width = max(len(entry.id) for entry in entries)
    kinds = [entry.scenario.kind if entry.scenario else "broken" for entry in entries]
    rows = [f"{e.id:{width}}  {kind:16}  {e.title}" for e, kind in zip(entries, kinds, strict=True)]
    return print_text("\n".join(rows))


def _as_data(entry: Entry) -> dict[str, Any]:
    from dataclasses import asdict

    return {"id": entry.id} | (asdict(entry.scenario) if entry.scenario else {"error": str(entry.error)})
