from __future__ import annotations

import math

import pytest

from tfslowtop.ui.format import duration, plain, quantity


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0124, "s", "12.4 ms"),
        (0.9999, "s", "1.00 s"),
        (3.14e-7, "s", "0.31 µs"),
        (0, "s", "0 µs"),
        (123.4, "s", "123 s"),
        (612e6, "B", "612 MB"),
        (1_234_000, "B", "1.23 MB"),
        (-25_000, "B", "-25.0 kB"),
        (0, "B", "0 B"),
        (1204, "", "1,204"),
        (2.5, "", "2.50"),
        (math.nan, "s", "–"),
        (math.inf, "B", "–"),
    ],
)
def test_quantities_have_three_digits_and_a_unit(value, unit, text):
    assert quantity(value, unit) == text


def test_durations():
    assert [duration(s) for s in (4, 65, 3725)] == ["4 s", "1:05 min", "1:02 h"]


def test_plain_is_seven_bit():
    assert plain("×12.4 µs → – · ü").isascii()
    assert plain("▲ ▼ ± …") == "^ v +- ..."
