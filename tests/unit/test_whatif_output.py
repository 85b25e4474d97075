"""Comparing what two runs of a program printed, and copying the directory that they run in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tfslowtop.export.whatif import workspace
from tfslowtop.export.whatif.output import compare
from tfslowtop.export.whatif.workspace import TooLargeError, Workspace

RUN = "step 1 loss 0.51234567\nstep 2 loss 0.412\ntook 3.1 s\n"


@pytest.mark.parametrize(
    ("patched", "same"),
    [
        (RUN, True),
        (RUN.replace("0.51234567", "0.51234599"), True),  # another order of additions
        (RUN.replace("0.412", "0.413"), True),  # rounded to the other side
        (RUN.replace("took 3.1 s", "took 0.2 s"), True),  # what it is for
        (RUN.replace("0.412", "0.42"), False),
        (RUN.replace("step 2", "step 3"), False),  # a whole number is a count
        (RUN.replace("loss", "lost"), False),
        (RUN + "Epoch 2\n", False),
        ("", False),
    ],
)
def test_text_is_compared_literally_and_numbers_within_a_tolerance(patched, same):
    assert compare([RUN, RUN], patched, whole=True).same is same


def test_what_differs_without_a_change_is_not_held_against_it():
    other = RUN.replace("0.412", "0.398")
    said = compare([RUN, other], RUN.replace("0.412", "0.377"), whole=True)
    assert said.same is True and "1 line the same; 2 lines not compared" in said.words
    noise = compare(["a 0.1234\n", "a 0.2234\n"], "a 0.3234\n", whole=True)
    assert noise.same is None and "run to run" in noise.words
    assert compare(["", ""], "", whole=True).same is None


def test_runs_that_were_stopped_are_compared_as_far_as_they_got():
    assert compare([RUN, RUN[:-4]], RUN + "further 1\nand fur", whole=False).same is True
    assert compare([RUN, RUN], RUN.replace("0.412", "0.9") + "further 1\n", whole=False).same is False


def test_progress_bars_are_not_results():
    bar = "\x1b[1m1/1\x1b[0m \x1b[32m━━━━\x1b[0m 0s 23ms/step\r" * 3
    assert compare([bar + "\ndone 1\n"] * 2, "done 1\n", whole=True).same is True


def test_a_copy_leads_back_to_the_original(tmp_path):
    project, data = tmp_path / "project", tmp_path / "data"
    for directory in (project / "pkg" / "__pycache__", project / ".git", project / "venv", data):
        directory.mkdir(parents=True)
    (project / "venv" / "pyvenv.cfg").touch()
    (project / "pkg" / "train.py").write_text("a = 1\n")
    (data / "x.npy").write_text("7")
    (project / "data").symlink_to("../data")
    (project / "latest").symlink_to(project / "pkg")
    space = Workspace(["pkg/train.py", f"--out={project}/out", "--in", str(data)], project)
    try:
        file = str(project / "pkg" / "train.py")
        space.renew({file: b"a = 2\n"})
        copy = Path(space.private(file))
        assert copy.read_text() == "a = 2\n" and Path(file).read_text() == "a = 1\n"
        assert space.original(str(copy)) == file and space.is_copied(str(copy))
        assert space.argv == ["pkg/train.py", f"--out={space.cwd}/out", "--in", str(data)]
        home = Path(space.cwd)
        assert (home / "data" / "x.npy").read_text() == "7"
        assert (home / "latest" / "train.py").read_text() == "a = 2\n"  # not the original's
        assert (home / "venv").is_symlink() and (home / ".git").is_symlink()
        assert not (home / "pkg" / "__pycache__").exists()
        (home / "checkpoint").touch()
        space.renew({})
        assert not (home / "checkpoint").exists() and copy.read_text() == "a = 1\n"
    finally:
        space.close()
    assert not home.exists() and Path(file).exists() and (data / "x.npy").exists()


def test_a_script_elsewhere_is_copied_beside_the_working_directory(tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "a.py").touch()
    space = Workspace(["../scripts/a.py", "../scripts/a.py"], tmp_path / "here")
    try:
        space.renew({})
        assert space.argv == [space.private(str(tmp_path / "scripts" / "a.py")), "../scripts/a.py"]
        assert Path(space.argv[0]).is_file() and space.is_copied(space.argv[0])
    finally:
        space.close()


def test_a_large_directory_is_not_copied(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text("a = 1\n")
    monkeypatch.setattr(workspace, "MOST_BYTES", 3)
    with pytest.raises(TooLargeError, match="too large"):
        Workspace(["a.py"], tmp_path)


def test_files_outside_that_are_open_for_writing_are_found(tmp_path):
    (tmp_path / "in").mkdir()
    space = Workspace(["-c", "pass"], tmp_path / "in")
    try:
        with (tmp_path / "log").open("w"), (space.output / "own").open("w"), Path(__file__).open():
            found = space.written_outside(os.getpid())
            assert str(tmp_path / "log") in found
            assert not found & {str(space.output / "own"), __file__}
    finally:
        space.close()
