"""Bad input gets one sentence; a good command line is read as Python reads it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from launching import SCRIPTS, environment

from tfslowtop.commands.main import parse
from tfslowtop.sources.launch import find_target
from tfslowtop.sources.script import ScriptSource, misplaced_options
from tfslowtop.sources.source import SourceError


def refusal(argv, cwd, **more) -> str:
    with pytest.raises(SourceError) as caught:
        ScriptSource(argv, cwd=str(cwd), env=environment(), **more).start()
    return str(caught.value)


@pytest.fixture(autouse=True)
def sessions(tmp_path_factory, monkeypatch):
    home = tmp_path_factory.mktemp("sessions")
    home.chmod(0o700)
    monkeypatch.setenv("TFSLOWTOP_SESSIONS", str(home))
    yield home
    assert list(home.iterdir()) == []  # a refusal leaves nothing behind


@pytest.mark.parametrize("headless", [False, True])
def test_what_is_not_a_script_is_refused_in_one_sentence(tmp_path, headless):
    (tmp_path / "train.py").write_text("print(1)\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "binary").write_bytes(b"\x7fELF\0\0")
    for argv, sentence in [
        (["nothing.py"], "nothing.py does not exist; check its path."),
        (["train", "--lr", "1"], "train does not exist; did you mean train.py?"),
        (["./trian.py"], "./trian.py does not exist; did you mean train.py?"),
        (["folder"], "folder is a directory without a __main__.py; name a script in it."),
        (["binary"], "binary is not a Python script but binary data."),
        ([], "There is nothing to run; name a script and its arguments, as after `python`."),
        (["-u"], "There is nothing to run; name a script and its arguments, as after `python`."),
        (["-m"], "-m needs a value after it."),
        (["-I", "train.py"], "-I keeps Python from loading tfslowtop's agent; leave it out."),
        (["-Z", "train.py"], "Python has no option -Z; if it is the script's, write it after the script."),
    ]:
        assert refusal(argv, tmp_path, headless=headless) == sentence


def test_a_syntax_error_is_shown_as_python_shows_it(tmp_path):
    file = tmp_path / "bad.py"
    file.write_text("import os\nvalue = (1 +\nprint('x')\nexit(\n")
    shown = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False).stderr
    assert refusal(["bad.py"], tmp_path) == shown.rstrip("\n")
    assert refusal(["bad.py"], tmp_path, python=sys.executable) == shown.rstrip("\n")


def test_source_in_another_encoding_and_with_warnings_is_fine(tmp_path, capfd):
    (tmp_path / "latin.py").write_bytes(b"# -*- coding: latin-1 -*-\nprint('\xe9', '\\d' is 1)\n")
    source = ScriptSource(["latin.py"], cwd=str(tmp_path), env=environment(), headless=True)
    source.start()
    assert capfd.readouterr().err == ""  # what it warns of, it warns of itself
    source.stop()
    source.close()


def test_interpreters_that_will_not_do(tmp_path):
    (tmp_path / "s.py").write_text("")
    (tmp_path / "env" / "bin").mkdir(parents=True)
    (tmp_path / "env" / "bin" / "python").write_text("")
    old = tmp_path / "old"
    old.write_text("#!/bin/sh\necho tfslowtop-probe 3.8\n")
    old.chmod(0o755)
    for python, words in [
        ("no-such-python", "No interpreter no-such-python on the PATH"),
        ("/no/such/python", "The interpreter /no/such/python does not exist; give --python the path of one."),
        ("/bin/true", "/bin/true is not a Python interpreter; give --python the path of one."),
        (str(tmp_path / "s.py"), "is not a Python interpreter; give"),
        (str(tmp_path / "env"), f"is a directory; did you mean {tmp_path}/env/bin/python?"),
        (str(old), "is Python 3.8; tfslowtop can watch Python 3.10 and later."),
    ]:
        assert words in refusal(["s.py"], tmp_path, python=python)


def test_places_that_will_not_do(tmp_path):
    (tmp_path / "s.py").write_text("")
    assert "does not exist" in refusal(["s.py"], tmp_path / "nowhere")
    assert "cannot be written to" in refusal(["s.py"], tmp_path, output_file=str(tmp_path / "no" / "out"))
    with pytest.raises(SourceError, match="redirect"):
        ScriptSource(["s.py"], headless=True, output_file="x")


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["train.py", "-m", "x"], ("file", "train.py", 0)),
        (["-u", "-Werror", "-X", "dev", "train.py"], ("file", "train.py", 4)),
        (["-um", "package.train", "-c"], ("module", "package.train", 1)),
        (["-mpackage.train", "-c"], ("module", "package.train", 0)),
        (["-c", "print(1)", "train.py"], ("code", "print(1)", 1)),
        (["-", "train.py"], ("stdin", "-", 0)),
        (["--check-hash-based-pycs", "never", "-OO", "a.py"], ("file", "a.py", 3)),
    ],
)
def test_the_command_line_is_read_as_python_reads_it(argv, expected):
    target = find_target(argv)
    assert (target.kind, target.name, target.position) == expected


def test_a_directory_or_archive_with_a_main_runs(tmp_path, capfd):
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__main__.py").write_text("print('main of', __package__)\n")
    subprocess.run([sys.executable, "-m", "zipapp", "app", "-o", "app.pyz"], cwd=tmp_path, check=True)
    for name in ("app", "app.pyz"):
        source = ScriptSource([name], cwd=str(tmp_path), env=environment(), headless=True)
        source.start()
        while not source.events(0.2) or source._run._process.poll() is None:
            pass
        source.close()
        assert "main of" in capfd.readouterr().out


def test_an_option_of_ours_after_the_script_gets_a_hint():
    ours = parse(["--attach", "x.py"]).ours
    assert ours == {"--headless", "--json", "--max-seconds", "--output", "--python", "--reattach", "--step"}

    def hint(*argv: str) -> str | None:
        return misplaced_options(argv, ours, "--attach")

    assert hint("train.py", "--epochs", "3") is None
    assert hint("--headless") is None
    assert hint("train.py", "--headless") == (
        "--headless goes to train.py. If it is meant for tfslowtop, write it before --attach."
    )
    assert hint("-m", "pkg.train", "--json=x", "--headless", "--json", "y") == (
        "--json and --headless go to pkg.train. If they are meant for tfslowtop, write them before --attach."
    )


def test_the_name_for_the_screen():
    assert ScriptSource(["a/train.py", "x"]).name == "train.py"
    assert ScriptSource(["-m", "pkg.train"]).name == "pkg.train"
    assert ScriptSource(["-c", "print(1)"]).name == "-c"
    assert SCRIPTS.is_dir()
