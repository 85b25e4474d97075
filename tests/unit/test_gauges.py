"""Gauges cost the watched program and a megabyte each in the watcher: none is sent for nobody."""

from __future__ import annotations

import re
from pathlib import Path

import tfslowtop
from tfslowtop.agent.protocol import names

PACKAGE = Path(tfslowtop.__file__).parent


def text_of(*folders: str) -> str:
    files = (path for folder in folders for path in sorted((PACKAGE / folder).rglob("*.py")))
    return "\n".join(path.read_text() for path in files)


def test_every_gauge_of_the_agent_is_read():
    sent = set(re.findall(r"\.gauge\(\s*(GAUGE_\w+)", text_of("agent")))
    read = text_of("stats", "state", "diagnosis", "ui")
    unread = {name for name in sent if name not in read and f'"{getattr(names, name)}"' not in read}
    assert len(sent) >= 5 and unread == set()
