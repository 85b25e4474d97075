"""What a program writes for a terminal must never break ours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfslowtop.ui.output_text import LONGEST, lines


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("one\ntwo\n", ["one", "two"]),
        ("one\r\ntwo", ["one", "two"]),
        ("\x1b[1;32mgreen\x1b[0m", ["green"]),
        ("\x1b]0;title\x07text", ["text"]),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", ["link"]),
        (" 10 %\r 50 %\r100 %\n", ["100 %"]),
        ("a long line\rshort\n", ["shortg line"]),
        ("a long line\r\x1b[Kshort\n", ["short"]),
        ("1/3\b\b\b2/3\b\b\b3/3", ["3/3"]),
        ("\x1b[2J\x1b[10;20Hhome", ["home"]),
        ("a\tb", ["a       b"]),
        ("bell\x07 null\x00 cut \x1b[", ["bell null cut "]),
        ("", []),
        ("\n\n", ["", ""]),
    ],
)
def test_lines(written: str, shown: list[str]):
    assert lines(written) == shown


def test_bounded():
    assert lines("".join(f"{n}\n" for n in range(10)), most=3) == ["7", "8", "9"]
    assert len(lines("x" * (3 * LONGEST))[0]) == LONGEST


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
def test_no_control_character_comes_through(written: str):
    for line in lines(written):
        assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in line)
