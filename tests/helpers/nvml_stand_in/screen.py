"""Runs in a child process that loads the stand-in: the app with its own sensors, on its machine's screen.

Standard input: a line for each look. Standard output: the screen's text then, as a line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import ui_source
from screens import text, until
from ui_source import Script


class Here(Script):
    """The scripted run; the process whose machine is looked at is this one."""

    @property
    def pid(self) -> int | None:
        return os.getpid()


async def main() -> None:
    app = ui_source.app(Path(tempfile.mkdtemp()), Here())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app._view is not None and app._view.iterations, 30.0)
        while line := await asyncio.to_thread(sys.stdin.readline):
            if line.strip():
                await pilot.press(line.strip())
            await pilot.pause(0.1)
            print(json.dumps(text(app)), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
