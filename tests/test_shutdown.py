"""Callbacks of ours that Python may still run while the interpreter shuts down."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

#: Python clears the modules that are still alive in the reverse order of their import: `json`, and what it
#: holds, comes after ours. An interrupt lives for ever, and with it what it refers to.
LATE = """
    import json
    import os
    import sys
    import tfslowtop.agent.safety.{module} as ours

    class Last:
        def __del__(self, names=vars(ours), write=os.write):
            write(1, b"cleared" if names["{name}"] is None else b"too early")
            self.callback()
            for _ in range(100):
                pass

    from tfslowtop.agent.safety.interrupt import Interrupt
    immortal = Interrupt(lambda frame: None)
    immortal.request
    immortal.keeps = [ours, json]
    json.last = Last()
"""
CALLBACKS = {
    "a pending call": (
        "interrupt",
        "let_through",
        "json.last.callback = ours.Interrupt(lambda frame: sys.version).request",
    ),
    "a call around a fork": (
        "shield",
        "raised_by_handler",
        "json.last.callback = ours.shielded(lambda: 1 / 0)",
    ),
}


@pytest.mark.parametrize("callback", CALLBACKS)
def test_nothing_is_said_when_the_globals_are_gone(callback):
    module, name, code = CALLBACKS[callback]
    script = textwrap.dedent(LATE.format(module=module, name=name)) + code
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr, done.returncode) == ("cleared", "", 0)
