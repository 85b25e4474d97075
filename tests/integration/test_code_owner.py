"""Whose code a file is: decided once, in the agent, and sent with every place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from launching import watched

from tfslowtop.agent.attachment import Attachment
from tfslowtop.agent.code.ownership import Ownership
from tfslowtop.agent.protocol.channel import MemoryChannel
from tfslowtop.agent.protocol.events import Stream, Tally
from tfslowtop.agent.tallies import Tallies

PACKAGES = "/env/lib/python3.11/site-packages"
NUMPY = """
import time
import numpy as np

def spread(row):
    return np.sort(row)[-3:].sum()

def main():
    rng, end, total = np.random.default_rng(0), time.time() + 2.5, 0.0
    while time.time() < end:
        total += sum(spread(row) for row in rng.normal(size=(500, 30)))
"""


def test_an_installed_package_that_is_the_program_is_the_users_own():
    ownership = Ownership(f"{PACKAGES}/shop/train.py")
    assert not ownership.is_library(f"{PACKAGES}/shop/data/read.py")
    assert ownership.is_library(f"{PACKAGES}/shopping/cart.py")
    assert ownership.is_library(f"{PACKAGES}/keras/a.py")
    single = Ownership(f"{PACKAGES}/train.py")
    assert not single.is_library(f"{PACKAGES}/train.py") and single.is_library(f"{PACKAGES}/other.py")


def test_generated_code_is_the_users_own_only_in_a_command():
    """Named tuples and dataclasses compile their methods from strings, as `python -c` does the program."""
    assert Ownership("/home/me/train.py").is_library("<string>")
    assert not Ownership("/home/me/-c").is_library("<string>")


def test_tallies_say_whose_line_it_is():
    tallies = Tallies(Ownership(f"{PACKAGES}/shop/train.py"))
    for file in ("/home/me/a.py", f"{PACKAGES}/shop/read.py", f"{PACKAGES}/keras/a.py", ""):
        tallies.put("save", "", file, 1, 1)
    assert [t.library for t in tallies.changed(0)] == [False, False, True, False]


def test_streams_say_whose_line_it_is_also_when_they_become_the_step():
    channel = MemoryChannel()
    attachment = Attachment(channel, step="f", script=f"{PACKAGES}/shop/train.py")
    context = attachment.context
    step = context.stream("function", "f", f"{PACKAGES}/keras/a.py", 1)
    context.stream("function", "g", f"{PACKAGES}/shop/a.py", 1)
    step.buffer.put((1, 1, 0))
    attachment._choose(0)
    attachment.agent.flush()
    told = [(e.kind, e.name, e.library) for e in channel.events if isinstance(e, Stream)]
    assert told == [("function", "f", True), ("function", "g", False), ("step", "f", True)]


@pytest.mark.parametrize("imported_by", ["__init__", "train"])
def test_a_package_run_with_m_is_the_users_own_wherever_it_imports_numpy(tmp_path, capfdbinary, imported_by):
    """While a package is imported, Python does not know the file of its `-m` module yet."""
    package = tmp_path / "site-packages" / "shop"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("import numpy\n" if imported_by == "__init__" else "")
    (package / "train.py").write_text(NUMPY + "\nmain()\n")
    env = {**os.environ, "PYTHONPATH": str(package.parent)}
    done = watched(["-m", "shop.train"], capfdbinary, env=env, cwd=tmp_path)
    lines = [e for e in done.events if isinstance(e, Tally) and e.what == "where" and e.file]
    assert str(package / "train.py") in {e.file for e in lines}
    assert [e for e in lines if Path(e.file).parent != package or e.library] == []
