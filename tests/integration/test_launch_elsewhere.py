"""Another interpreter, with nothing of ours in it; and the real TensorFlow."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from launching import SCRIPTS, bare, collect, environment, text_of, watched, watched_in_terminal

from tfslowtop.agent.protocol.events import Ended, Hello, Note
from tfslowtop.sources.script import ScriptSource


@pytest.fixture(scope="module")
def empty(tmp_path_factory) -> str:
    """The python of a virtual environment in which nothing is installed, not even pip."""
    place = tmp_path_factory.mktemp("empty")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    return str(place / "bin" / "python")


def test_nothing_of_ours_need_be_installed_there(empty, capfdbinary):
    code = (
        "import sys, tensorflow\n"
        "agent = sys.modules['_tfslowtop_agent']\n"
        "print(sys.prefix, [m for m in sys.modules if m.split('.')[0] in ('tfslowtop', 'numpy', 'psutil')])\n"
        "print([p for p in sys.path if 'tfslowtop' in p or 'site-packages' in p])\n"
    )
    result = watched(["-c", code], capfdbinary, env=environment(), python=empty)
    prefix = str(Path(empty).parents[1])
    first, second = result.out.decode().splitlines()
    assert first == f"{prefix} []"
    assert all(path.startswith((f"'{prefix}", f"['{prefix}")) for path in second.split(", "))
    hello = next(e for e in result.events if isinstance(e, Hello))
    assert hello.python == sys.version.split()[0]


@pytest.mark.parametrize(
    "argv", [["facts.py", "import"], ["ends.py", "raise", "import"], ["ends.py", "exit-message"]]
)
def test_it_is_the_same_as_bare_there(empty, capfdbinary, argv):
    mine = watched(argv, capfdbinary, env=environment(), python=empty)
    theirs = bare(argv, env=environment(), python=empty)
    strip = re.compile(rb"0x[0-9a-f]{6,}|started \d+")
    assert mine.code == theirs.code
    assert [strip.sub(b"", part) for part in (mine.out, mine.err)] == [
        strip.sub(b"", part) for part in (theirs.out, theirs.err)
    ]


def test_a_missing_tensorflow_is_missed_as_ever(empty, capfdbinary):
    env = environment(PYTHONPATH="")
    argv = [
        "-c",
        "try:\n    import tensorflow\nexcept ImportError as e:\n    print(e)\nimport tensorflow.keras",
    ]
    assert list(watched(argv, capfdbinary, env=env, python=empty)) == list(bare(argv, env=env, python=empty))


def test_a_keeper_needs_nothing_either(empty):
    result = watched_in_terminal(["-c", "import tensorflow; print('fine')"], env=environment(), python=empty)
    assert result.out == b"fine\r\n" and any(isinstance(e, Hello) for e in result.events)


@pytest.mark.tensorflow
def test_with_the_real_tensorflow_the_results_are_the_same():
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": ""}
    source = ScriptSource(["trains.py"], env=env, cwd=str(SCRIPTS), headless=False)
    source.start()
    events = collect(source, 120)
    source.close()
    theirs = bare(["trains.py"], env=env)
    lines = [line for line in text_of(events).splitlines() if line.startswith("result")]
    assert lines == [line for line in theirs.out.decode().splitlines() if line.startswith("result")]
    assert len(lines) == 3 and isinstance(events[-1], Ended) and events[-1].code == theirs.code == 3
    assert sum(isinstance(e, Hello) for e in events) == 1
    assert not [e for e in events if isinstance(e, Note) and "error" in e.text]
