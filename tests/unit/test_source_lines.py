"""Only what is a file is read as source."""

from __future__ import annotations

import os

from tfslowtop.agent.code.source_lines import source_line, source_lines


def test_a_file_is_read(tmp_path):
    file = tmp_path / "a.py"
    file.write_text("one\ntwo\n")
    assert source_lines(str(file)) == ["one\n", "two\n"]
    assert [source_line(str(file), n) for n in (0, 2, 3)] == ["", "two\n", ""]


def test_what_may_block_or_never_end_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", 1 << 40)
    for file in (tmp_path / "pipe", tmp_path / "large", tmp_path, "/dev/zero", "/proc/self/environ", "\0"):
        assert source_lines(str(file)) == []
