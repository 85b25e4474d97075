"""What was measured is kept, and nothing that is wrong with the file matters."""

from __future__ import annotations

import json
import time

import pytest

from tfslowtop.catalogue.measured import Measured, read_measured, state_file, this_machine, write_measured

ONE = Measured(45.7, 33.6, 54.9, 0.0177, 0.00039, "+30.0 kB/it leak", (1.0, 2.0), time.time())


def test_it_is_there_again_and_joins_what_was_there(tmp_path):
    file = tmp_path / "a" / "measured.json"
    write_measured(file, {"one": ONE})
    write_measured(file, {"two": ONE})
    assert read_measured(file) == {"one": ONE, "two": ONE}
    assert [path.name for path in file.parent.iterdir()] == ["measured.json"]


def test_another_machine_with_the_same_home_is_another_machine(tmp_path, monkeypatch):
    file = tmp_path / "measured.json"
    write_measured(file, {"one": ONE})
    monkeypatch.setattr("tfslowtop.catalogue.measured.this_machine", lambda: "elsewhere, 96 CPUs")
    assert read_measured(file) == {}
    write_measured(file, {"two": ONE})
    assert set(read_measured(file)) == {"two"} and len(json.loads(file.read_text())) == 2


NUMBERS = dict.fromkeys(("ratio", "low", "high", "before", "after", "at"), 1)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        '{"x": 3}',
        json.dumps({this_machine(): {"one": {"ratio": "much"}, "two": 3}}),
        json.dumps({this_machine(): {"one": {**NUMBERS, "leak": "", "curve": [float("nan")]}}}),
        "x" * 300_000,
    ],
    ids=range(8),
)
def test_a_broken_file_is_none(tmp_path, content):
    file = tmp_path / "measured.json"
    file.write_text(content)
    assert read_measured(file) == {}
    write_measured(file, {"one": ONE})
    assert read_measured(file) == {"one": ONE}


def test_where_nothing_can_be_written_nothing_happens(tmp_path):
    (tmp_path / "file").write_text("")
    write_measured(tmp_path / "file" / "measured.json", {"one": ONE})
    assert read_measured(tmp_path / "file" / "measured.json") == {}


def test_it_is_bounded(tmp_path):
    file = tmp_path / "measured.json"
    write_measured(file, {f"s{n}": ONE for n in range(500)})
    assert len(read_measured(file)) == 200 and file.stat().st_size < 1 << 18


def test_it_is_kept_where_state_belongs(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert state_file() == tmp_path / "tfslowtop" / "measured.json"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert state_file() == tmp_path / ".local" / "state" / "tfslowtop" / "measured.json"
