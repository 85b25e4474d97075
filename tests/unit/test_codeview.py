"""The code that applies, with the rest cut out."""

from __future__ import annotations

import ast
import itertools
import textwrap

import pytest

from tfslowtop.catalogue.code_view import applied, side_by_side
from tfslowtop.catalogue.find import Entry, all_entries

ENTRIES = [entry for entry in all_entries() if entry.scenario is not None]


def cut(body: str, *fixes: str) -> str:
    source = "import x\n\ndef iteration(s, fixes, i):\n" + textwrap.indent(textwrap.dedent(body), "    ")
    lines = applied(source, fixes)
    ast.parse("\n".join(lines))
    return textwrap.dedent("\n".join(lines[1:]))


BRANCHES = """\
before()
# why the fix
if fixes.a:  # the good way
    # kept with its block
    good(
        1,
    )
elif fixes.b:
    half()
else:
    bad()
# after
done()
"""


def test_a_branch_is_chosen_and_moved_to_the_left():
    assert cut(BRANCHES, "a") == (
        "before()\n# why the fix\n# kept with its block\ngood(\n    1,\n)\n# after\ndone()"
    )
    assert cut(BRANCHES, "b") == "before()\n# why the fix\nhalf()\n# after\ndone()"
    assert cut(BRANCHES, "a", "b") == cut(BRANCHES, "a")
    assert cut(BRANCHES) == "before()\n# why the fix\nbad()\n# after\ndone()"


def test_what_is_off_and_has_no_else_leaves_nothing():
    assert cut("# why\nif fixes.a:\n    x()\ny()\n") == "y()"
    assert cut("for k in s:\n    if fixes.a:\n        x()\n") == "for k in s:\n    pass"


def test_nothing_follows_a_return():
    assert cut("if fixes.a:\n    return 1\n# slow\nreturn 2\n", "a") == "return 1"
    assert cut("if fixes.a:\n    return 1\n# slow\nreturn 2\n") == "# slow\nreturn 2"
    assert cut("if fixes.a: return 1\nreturn 2\n", "a") == "return 1"


@pytest.mark.parametrize(
    ("expression", "on", "off"),
    [
        ("p if fixes.a else q", "p", "q"),
        ("f(p if not fixes.a else (1, 2)) + 1", "f((1, 2)) + 1", "f(p) + 1"),
        ("p if fixes.a and fixes.b else q", "q", "q"),
        ("p if fixes.a or fixes.b else q", "p", "q"),
        ("p if fixes.a and i > 3 else q", "p if i > 3 else q", "q"),
        ("s.table[fixes.a]", "s.table[True]", "s.table[False]"),
        ("(fixes.a, fixes.b)", "(True, False)", "(False, False)"),
        ("'µ×', p if fixes.a else q", "'µ×', p", "'µ×', q"),
        ("fixed.a if fixes.a else other.a", "fixed.a", "other.a"),
    ],
)
def test_expressions(expression: str, on: str, off: str):
    assert cut(f"x = {expression}\n", "a") == f"x = {on}"
    assert cut(f"x = {expression}\n") == f"x = {off}"


def test_a_condition_that_depends_on_more_stays():
    body = "if i > 3:\n    x()\nelif fixes.a:\n    y()\nelif i and fixes.b:\n    z()\nelse:\n    w()\n"
    assert cut(body, "a") == "if i > 3:\n    x()\nelse:\n    y()"
    assert cut(body, "b") == "if i > 3:\n    x()\nelif i:\n    z()\nelse:\n    w()"
    assert cut(body) == "if i > 3:\n    x()\nelse:\n    w()"
    assert cut("if fixes.a:\n    x()\nelif i:\n    y()\n") == "if i:\n    y()"


def test_blocks_within_blocks():
    body = """\
    with s.lock:  # held
        try:
            if fixes.a:
                x()
            else:
                y()
        except ValueError:
            # told
            z(fixes.a)
        finally:
            w()

    return 1
    """
    assert "x()" in cut(body, "a") and "y()" not in cut(body, "a")
    assert "# told\n        z(True)" in cut(body, "a")
    assert "with s.lock:  # held" in cut(body)


def test_no_such_function():
    assert applied("x = 1\n", ()) == []


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_every_scenario_of_the_catalogue(entry: Entry):
    assert entry.scenario is not None
    source = entry.path.read_text()
    ids = [fix.id for fix in entry.scenario.fixes]
    for count in range(len(ids) + 1):
        for fixes in itertools.combinations(ids, count):
            text = "\n".join(applied(source, fixes))
            ast.parse(text)
            assert "fixes." not in text
    slow = applied(source, entry.scenario.base)
    fixed = applied(source, {*entry.scenario.base, *entry.scenario.cured_by})
    left, right = side_by_side(slow, fixed)
    assert [line.text for line in left] == slow and [line.text for line in right] == fixed
    assert {line.sign for line in (*left, *right)} == {" ", "-", "+"} or slow != fixed


def test_equal_sides_have_no_marks():
    left, right = side_by_side(["a", "b"], ["a", "b"])
    assert {line.sign for line in (*left, *right)} == {" "}
    left, right = side_by_side(["a", "b"], ["a", "c"])
    assert [line.sign for line in left] == [" ", "-"] and [line.sign for line in right] == [" ", "+"]
