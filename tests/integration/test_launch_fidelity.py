"""A watched script is the bare script: laid side by side, byte for byte."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from launching import SCRIPTS, STANDIN, bare, bare_in_terminal, environment, watched, watched_in_terminal

WAYS = re.findall(r'^    "([\w-]+)":', (SCRIPTS / "ends.py").read_text(), re.MULTILINE)


def plain(result) -> list:
    """Addresses and pids, which no two runs share, replaced."""
    return [
        re.sub(rb"0x[0-9a-f]{6,}|started \d+|pid=\d+|\(pid \d+\)", b"0x", part)
        if isinstance(part, bytes)
        else part
        for part in result
    ]


@pytest.mark.parametrize("arguments", [[], ["import"]], ids=["without", "importing"])
def test_everything_that_a_script_can_see_is_the_same(arguments, capfdbinary):
    argv, env = ["facts.py", "--epochs", "3", *arguments], environment(EMPTY="", ODD="\udce9")
    assert plain(watched(argv, capfdbinary, env=env)) == plain(bare(argv, env=env))


def test_also_in_a_terminal():
    env = environment()
    mine, theirs = (
        run(["facts.py", "import"], env=env).out.decode() for run in (watched_in_terminal, bare_in_terminal)
    )
    strip = re.compile(r"0x[0-9a-f]{6,}|started \d+")
    assert strip.sub("", mine) == strip.sub("", theirs)


@pytest.mark.parametrize("pythonpath", [None, "", f"{STANDIN}:", f"/nowhere::{STANDIN}"])
def test_the_path_is_given_back_as_it_was(pythonpath, capfdbinary):
    env = environment()
    del env["PYTHONPATH"]
    if pythonpath is not None:
        env["PYTHONPATH"] = pythonpath
    assert plain(watched(["facts.py"], capfdbinary, env=env)) == plain(bare(["facts.py"], env=env))


@pytest.mark.parametrize("way", WAYS)
def test_it_ends_in_the_same_way(way, capfdbinary):
    for argv in (["ends.py", way], ["ends.py", way, "import"]):
        env = environment()
        expected = bare(argv, env=env, stdin=b"some text\n")
        assert plain(watched(argv, capfdbinary, env=env, stdin=b"some text\n")) == plain(expected)


@pytest.mark.parametrize(
    "way", ["quietly", "exit-message", "raise", "interrupt", "terminate", "os-exit", "fork-raises"]
)
def test_it_ends_in_the_same_way_in_a_terminal(way):
    argv, env = ["ends.py", way, "import"], environment()
    assert plain(watched_in_terminal(argv, env=env)) == plain(bare_in_terminal(argv, env=env))


@pytest.mark.parametrize(
    "argv",
    [
        ["-m", "package.train", "--lr", "0.1"],
        ["-mpackage.train"],
        ["-c", "import sys; print(sys.argv, __name__, sys.path[0] == '')", "a", "-b"],
        ["-u", "-W", "error", "-X", "dev", "-O", "ends.py", "quietly", "import"],
        ["-", "argument"],
        ["-m", "no.such.module"],
        ["package/train.py", "--headless", "-m", "-c"],
    ],
    ids=lambda argv: argv[0] + argv[-1],
)
def test_every_form_of_pythons_command_line(argv, capfdbinary):
    env = environment()
    program = b"import sys; print(sys.argv, __name__)\n"
    assert list(watched(argv, capfdbinary, env=env, stdin=program)) == list(
        bare(argv, env=env, stdin=program)
    )


@pytest.mark.parametrize("when", ["early", "never"])
def test_children_of_every_kind_run_as_without_us(when, capfdbinary):
    env = environment()
    mine, theirs = watched(["pools.py", when], capfdbinary, env=env), bare(["pools.py", when], env=env)
    assert list(mine) == list(theirs)


def test_forking_when_ours_are_the_only_threads(capfdbinary):
    """From Python 3.12 on fork() warns of threads. TensorFlow has some after its first op; before, no one."""
    argv, env = ["ends.py", "fork-returns", "import"], environment(STANDIN_ALONE="1")
    assert list(watched(argv, capfdbinary, env=env)) == list(bare(argv, env=env))


def test_a_sitecustomize_that_ours_hides_still_runs(tmp_path, capfdbinary):
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nprint('site', __name__, __file__)\nsys.hidden = 7\n"
    )
    env = environment(PYTHONPATH=f"{tmp_path}:{STANDIN}")
    argv = ["-c", "import sys, sitecustomize; print(sys.hidden, sitecustomize.__spec__, sitecustomize.sys)"]
    expected = bare(argv, env=env)
    assert b"site sitecustomize" in expected.out
    assert plain(watched(argv, capfdbinary, env=env)) == plain(expected)


def test_a_sitecustomize_that_fails_says_what_it_says_without_us(tmp_path, capfdbinary):
    (tmp_path / "sitecustomize.py").write_text("1 / 0\n")
    env = environment(PYTHONPATH=str(tmp_path))
    argv = ["-c", "import sys; print('sitecustomize' in sys.modules)"]
    assert list(watched(argv, capfdbinary, env=env)) == list(bare(argv, env=env))


def test_looking_for_tensorflow_is_not_importing_it(capfdbinary):
    code = (
        "import importlib.util, sys\n"
        "spec = importlib.util.find_spec('tensorflow')\n"
        "print(spec.name, spec.origin, '_tfslowtop_agent' in sys.modules)\n"
        "import tensorflow\n"
        "print(tensorflow.__spec__.loader, '_tfslowtop_agent' in sys.modules)\n"
    )
    result = watched(["-c", code], capfdbinary, env=environment())
    first, second = result.out.decode().splitlines()
    assert first.endswith("False") and second.endswith("True") and "SourceFileLoader" in second


def test_a_traceback_out_of_tensorflows_own_import_has_no_line_of_ours(tmp_path, capfdbinary):
    (tmp_path / "tensorflow.py").write_text("def f():\n    raise ValueError('no CUDA')\nf()\n")
    (tmp_path / "s.py").write_text("import tensorflow\n")
    for error in ("ValueError", "ImportError"):
        (tmp_path / "tensorflow.py").write_text(f"def f():\n    raise {error}('no CUDA')\nf()\n")
        env = environment(PYTHONPATH="")
        assert list(watched(["s.py"], capfdbinary, env=env, cwd=tmp_path)) == list(
            bare(["s.py"], env=env, cwd=tmp_path)
        )


def test_the_job_is_in_the_foreground_and_does_not_lead_the_session():
    code = (
        "import os; print(os.getpgrp() == os.getpid(), os.getsid(0) != os.getpid(),"
        " os.tcgetpgrp(0) == os.getpid(), os.get_terminal_size())"
    )
    result = watched_in_terminal(["-c", code], env=environment(), size=(40, 132))
    assert result.out == b"True True True os.terminal_size(columns=132, lines=40)\r\n"


def test_the_bootstrap_loads_no_module_that_python_has_not_loaded(root):
    """What it costs a script that never imports TensorFlow is its own few lines."""
    code = "import sys; print(sorted(sys.modules))"
    boot = root / "tfslowtop" / "agent" / "bootstrap" / "path"
    runs = [
        subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
        ).stdout
        for env in (
            environment(PYTHONPATH=str(boot), TFSLOWTOP_ATTACH_SOCKET="/x", TFSLOWTOP_ATTACH_TOKEN="t"),
            environment(PYTHONPATH=""),
        )
    ]
    assert runs[0] == runs[1]
