"""Whether two runs of a program printed the same.

Text has to be the same literally, and numbers within a tolerance: a compiled step adds up in another order.
What a program prints about its own speed is not compared, and neither are lines that differ between two
unpatched runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

#: How far two printed numbers may be apart: this part of the larger one, or one in the last printed digit.
TOLERANCE = 1e-3
#: The same for two unpatched runs: further apart, they are not of one seed.
_SAME_SEED = 1e-5
#: The tolerance in words.
TOLERANCE_WORDS = "numbers within 0.1 % or one in the last digit"

_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w])|[-+]?\d+\.\d+(?:[eE][-+]?\d+)?"
)
#: A number with a unit of time or speed.
_TIMED = re.compile(
    r"[-+]?\d[\d.,]*(?:[eE][-+]?\d+)?\s?(?:[nuµm]?s|secs?|seconds?|minutes?|[\w.]+\s?/\s?s(?:ec)?|[nuµm]?s/\w+)\b"
)
_TIME_WORDS = re.compile(
    r"\b(?:elapsed|took|time|duration|seconds?|speed|throughput|latency|fps|per sec)\b", re.I
)
#: The progress bars of Keras and tqdm.
_PROGRESS = re.compile(r"\d+/(?:\d+|Unknown)\s.*(?:━|=+>|\[|/step|it/s)")
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x08|\x07")


@dataclass(frozen=True, slots=True)
class Comparison:
    same: bool | None
    """None where it cannot be said."""
    words: str


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    numbers: tuple[str, ...]

    @classmethod
    def of(cls, row: str) -> _Line:
        return cls(_NUMBER.sub("#", row), tuple(_NUMBER.findall(row)))

    def is_same(self, other: _Line, tolerance: float = TOLERANCE) -> bool:
        return (
            self.text == other.text
            and len(self.numbers) == len(other.numbers)
            and all(_is_near(a, b, tolerance) for a, b in zip(self.numbers, other.numbers, strict=True))
        )


def compare(before: Sequence[str], after: str, *, whole: bool) -> Comparison:
    """Compare what unpatched runs printed with what a patched one did.

    Unless all of them ended by themselves (`whole`), only lines that all had the time to print are compared.
    """
    outputs = [_lines(text, whole) for text in (*before, after)]
    most = min(map(len, outputs))
    if not whole:
        outputs = [rows[:most] for rows in outputs]
    *references, patched = outputs
    if len(references) < 2:
        return Comparison(None, "not compared: no second unpatched run tells what differs in any case")
    if not any(references) and not patched:
        return Comparison(None, "not compared: the script printed nothing")
    if len({len(rows) for rows in references}) > 1:
        return Comparison(None, "not compared: two unpatched runs print another number of lines")
    if len(patched) != len(references[0]):
        return Comparison(False, f"the output has {len(patched)} lines instead of {len(references[0])}")
    same, skipped, differing = 0, 0, 0
    for rows in zip(*outputs, strict=True):
        lines = [_Line.of(row) for row in rows]
        if any(not line.is_same(lines[0], _SAME_SEED) for line in lines[:-1]) or all(map(_is_timed, rows)):
            skipped += 1
        elif lines[-1].is_same(lines[0]):
            same += 1
        else:
            differing += 1
    apart = f"; {_count(skipped)} not compared" if skipped else ""
    if differing:
        return Comparison(False, f"the output differs in {_count(differing)} of {same + differing}")
    if not same:
        return Comparison(
            None,
            f"not compared: the output differs from run to run without the change, too ({_count(skipped)})",
        )
    return Comparison(True, f"{_count(same)} the same{apart}")


def _count(lines: int) -> str:
    return f"{lines:,} {'line' if lines == 1 else 'lines'}"


def _lines(text: str, whole: bool) -> list[str]:
    rows = [row.rstrip() for row in re.split(r"[\r\n]", _CONTROL.sub("", text))]
    if not whole:
        rows = rows[:-1]  # it may have been cut
    return [row for row in rows if row and not _PROGRESS.search(row)]


def _is_timed(row: str) -> bool:
    return bool(_TIMED.search(row) or _TIME_WORDS.search(row)) and bool(_NUMBER.search(row))


def _is_near(a: str, b: str, tolerance: float) -> bool:
    if a == b:
        return True
    if _is_whole(a) and _is_whole(b):
        return False
    x, y = float(a), float(b)
    return abs(x - y) <= max(tolerance * max(abs(x), abs(y)), 1.01 * min(_last_digit(a), _last_digit(b)))


def _is_whole(number: str) -> bool:
    return number.lstrip("+-").isdigit()


def _last_digit(number: str) -> float:
    """Return what one in the last printed digit is worth."""
    digits, _, exponent = number.lower().partition("e")
    decimals = len(digits.partition(".")[2])
    return float(10.0 ** (int(exponent or 0) - decimals))
