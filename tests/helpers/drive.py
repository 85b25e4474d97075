"""Runs scripts one after the other in this process, each watched by an agent of its own; prints what it saw.

python drive.py [--step NAME] script.py ...        # one JSON object per script, on the last lines
"""

from __future__ import annotations

import dataclasses
import json
import runpy
import sys
from pathlib import Path


def watch(script: str, step: str | None) -> dict:
    from tfslowtop.agent.attachment import start
    from tfslowtop.agent.protocol.channel import MemoryChannel

    channel = MemoryChannel(capacity=1 << 20)
    attachment = start(channel, step=step, script=script)
    sys.argv = [script]
    error = ""
    try:
        runpy.run_path(script, run_name="__main__")
    except Exception as problem:
        error = f"{type(problem).__name__}: {problem}"
    attachment.remove()
    events = [
        (type(e).__name__, dataclasses.asdict(e) if type(e).__name__ != "Samples" else None, e)
        for e in channel.events
    ]
    streams: dict[int, dict] = {}
    for kind, fields, event in events:
        if kind == "Stream":
            streams.setdefault(fields["id"], {"count": 0, "wall": 0}).update(fields)
        elif kind == "Samples":
            streams[event.stream]["count"] += len(event)
    chosen = [fields for kind, fields, _ in events if kind == "StepChosen"]
    return {
        "script": Path(script).name,
        "error": error,
        "streams": list(streams.values()),
        "step": dict(streams[chosen[-1]["stream"]], why=chosen[-1]["why"]) if chosen else None,
        "choices": len(chosen),
        "traces": [f for k, f, _ in events if k == "Trace"],
        "tallies": [f for k, f, _ in events if k == "Tally"],
        "notes": [f["text"] for k, f, _ in events if k == "Note"],
        "gauges": sorted({f["name"] for k, f, _ in events if k == "Gauge"}),
    }


def main() -> None:
    arguments = sys.argv[1:]
    results = []
    for script in arguments:
        wanted = None
        for line in Path(script).read_text().splitlines():
            if line.startswith("# expect:") and line.count("|") == 2:
                wanted = line.rpartition("|")[2].strip()
        results.append(watch(script, wanted))
    print()
    for result in results:
        print("RESULT " + json.dumps(result))


if __name__ == "__main__":
    main()
