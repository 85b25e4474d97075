"""The scenario API: descriptions are read without running the file; what is wrong is one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfslowtop.catalogue import find as catalogue
from tfslowtop.scenario import Fix, Param, Params, Scenario, ScenarioError, describe

BODY = "def setup(params): pass\ndef iteration(s, fixes, i): pass\n"


def test_a_description_is_read_without_running_the_file(scenario_file):
    path = scenario_file(
        "raise RuntimeError('this file must not run')\n" + BODY,
        head="params=[Param('size', 10, 'rows', choices=(10, 20))], fixes=(Fix('a', 'do a', half=True),)",
    )
    scenario = describe(path)
    assert scenario.params == (Param("size", 10, "rows", choices=(10, 20)),)
    assert scenario.fixes == (Fix("a", "do a", half=True),)


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("def broken(:\n", "syntax error", 1),
        ("x = 1\n", "has no SCENARIO", 1),
        ("from tfslowtop.scenario import *\nSCENARIO = 7\n" + BODY, "not a Scenario", 2),
        ("from tfslowtop.scenario import *\nSCENARIO = Scenario(title='t')\n" + BODY, "missing", 2),
        ("SCENARIO = Scenario(title='t', kind='odd', claim='c', mechanism='m')\n" + BODY, "not one of", 1),
        ("SCENARIO = Scenario(title='t',\n kind=KIND, claim='c', mechanism='m')\n" + BODY, "plain values", 2),
        ("SCENARIO = Scenario(title='t', kind='myth', claim='c', mechanism='m')\n", "no function setup", 1),
        ("SCENARIO = Scenario(title='t', kind='myth', claim='c', mechanism='m', fixes=[Fix('a b', '')])\n"
         + BODY,
         "not a Python name", 1),
        ("SCENARIO = Scenario(title='t', kind='myth', claim='c', mechanism='m', cure=['a'])\n" + BODY,
         "not a fix", 1),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(tmp_path, text, message, line):
    path = tmp_path / "bad.py"
    path.write_text(text)
    with pytest.raises(ScenarioError, match=message) as caught:
        describe(path)
    assert (caught.value.file, caught.value.line) == (str(path), line)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"\x00\x01", b"# -*- coding: nonsense -*-\n"])
def test_a_file_that_is_not_python_is_refused(tmp_path, data):
    path = tmp_path / "binary.py"
    path.write_bytes(data)
    with pytest.raises(ScenarioError):
        describe(path)


def test_parameters_are_parsed_or_refused():
    scenario = Scenario(
        "t",
        "myth",
        "c",
        "m",
        params=(
            Param("n", 5, "", minimum=1, gpu=700),
            Param("x", 1.5, ""),
            Param("dtype", "f", "", choices=("f", "d")),
        ),
    )
    assert scenario.values({"n": "7"}) == {"n": 7, "x": 1.5, "dtype": "f"}
    assert scenario.values({"n": "gpu"})["n"] == 700
    for texts, message in [
        ({"n": "x"}, "whole number"),
        ({"n": "0"}, "between 1 and"),
        ({"x": "nan"}, "between 0 and 1,000,000,000"),
        ({"x": "gpu"}, "takes a number"),
        ({"dtype": "q"}, "one of f, d"),
        ({"m": "1"}, "no parameter 'm'"),
    ]:
        with pytest.raises(ScenarioError, match=message):
            scenario.values(texts)


def test_a_name_that_was_not_declared_is_an_error_with_a_sentence():
    scenario = Scenario("t", "myth", "c", "m", fixes=(Fix("a", ""),))
    assert scenario.active(("a",)).a is True
    assert scenario.active(()).a is False
    with pytest.raises(AttributeError, match="declares no fix 'b'"):
        _ = scenario.active(()).b
    with pytest.raises(AttributeError, match="declares no parameter 'n'"):
        _ = Params(size=1).n


def test_the_cure_is_all_whole_fixes_unless_it_is_said():
    fixes = (Fix("a", ""), Fix("b", "", half=True))
    assert Scenario("t", "myth", "c", "m", fixes=fixes).cured_by == ("a",)
    assert Scenario("t", "myth", "c", "m", fixes=fixes, cure=("a", "b")).cured_by == ("a", "b")


def test_scenarios_are_found_by_id_or_path(scenario_file):
    assert catalogue.find("graph_growth").scenario is not None
    assert catalogue.find(str(scenario_file(BODY))).id == "mine"
    for name, message in [
        ("graph", "did you mean graph_growth"),
        ("nothing_like_it", "tfslowtop list"),
        ("nowhere.py", "no such file"),
        (str(Path(__file__).parent), "directory"),
    ]:
        with pytest.raises(ScenarioError, match=message):
            catalogue.find(name)


def test_a_broken_file_has_a_place_in_the_list(tmp_path):
    path = tmp_path / "bad.py"
    path.write_text("def broken(:\n")
    entry = catalogue.load(path)
    assert entry.scenario is None and entry.error is not None
    assert "broken" in entry.title
