"""Runs in a child process, under a driver's library or in a cgroup of the test's choice: watches a script.

Arguments: the script's command line, as after `python`. Standard output: a line of JSON whenever something
has changed, then one with the report of `--json`. The script's own output goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from tfslowtop.export.headless import HeadlessScript
from tfslowtop.export.numbers import known
from tfslowtop.export.report import report
from tfslowtop.state.view import View

#: Our standard output. The script inherits standard error in its place.
OUT = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


class Telling(HeadlessScript):
    said: dict[str, Any] | None = None

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
            print(json.dumps(known(now)), file=OUT, flush=True)


def main() -> None:
    argv = sys.argv[1:]
    outcome = Telling(argv).go()
    assert outcome.view is not None, outcome.error
    whole = report(argv, sys.executable, outcome.view, outcome.session)
    print(json.dumps({"report": known(whole)}), file=OUT, flush=True)


if __name__ == "__main__":
    main()
