"""Runs in a child process, under a driver's library or in a cgroup of the test's choice: watches a script.

Arguments: the script's command line, as after `python`. Standard output: a line of JSON whenever something
has changed, then one with the report of `--json`. The script's own output goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, TextIO

from tfslowtop.export.headless import HeadlessScript, report
from tfslowtop.export.numbers import known
from tfslowtop.state.view import View


class Telling(HeadlessScript):
    said: dict[str, Any] | None = None
    ours: TextIO

    def _look(self, view: View) -> None:
        super()._look(view)
        now = {
            "pid": self._source.pid,
            "steps": min(view.iterations, 50),
            "findings": {f.cause: [f.sentence, f.evidence.get("lasting")] for f in view.findings},
            "gpus": {gpu.label: [gpu.number, gpu.visible] for gpu in view.gpus},
            "lost": [name for name, value in view.readings.items() if name.endswith(".lost") and value],
            "no_gpu": view.no_gpu,
        }
        if now != self.said:
            self.said = now
            print(json.dumps(known(now)), file=self.ours, flush=True)


def main() -> None:
    argv = sys.argv[1:]
    ours = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    Telling.ours = ours
    outcome = Telling(argv).go()
    if outcome.view is None:
        raise SystemExit(str(outcome.error))
    result = report(argv, sys.executable, outcome.view, outcome.session)
    print(json.dumps({"report": known(result)}), file=ours, flush=True)


if __name__ == "__main__":
    main()
