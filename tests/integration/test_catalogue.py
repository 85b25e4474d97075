"""The catalogue: each scenario says what it should, and its fixed iteration does the broken one's work."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from paths import HELPERS

from tfslowtop.catalogue.find import all_entries, directory

ENTRIES = {entry.id: entry for entry in all_entries()}
#: Where broken and fixed draw other random numbers, and how far their results may then be apart.
OTHER_NUMBERS: dict[str, float] = {"large_arrays": 0.01, "seeded_random": 0.05}
#: Where the result is what the fix is about.
OTHER_RESULT = {"stale_closure", "lost_gradient"}


@pytest.mark.parametrize("id", ENTRIES)
def test_a_scenario_is_described_in_full(id):
    entry = ENTRIES[id]
    assert entry.error is None
    scenario = entry.scenario
    assert len(scenario.title) <= 45
    assert 8 <= len(scenario.claim.split()) <= 16
    assert scenario.source
    assert scenario.example or scenario.source.startswith("added"), "what the article's own example does"
    assert len(re.findall(r"[.!](?:\s|$)", scenario.mechanism)) == 3
    assert scenario.fixes, "there is something to try"
    assert all(len(fix.title) <= 75 for fix in scenario.fixes)
    assert len(scenario.fixes) <= 9, "there are nine keys"
    for param in scenario.params:
        assert param.parse(str(param.default)) == param.default
        assert param.gpu is None or param.parse(str(param.gpu)) == param.gpu, (
            "what a GPU box takes is allowed"
        )


def test_every_example_of_the_articles_has_its_scenario():
    sources = [e.scenario.source for e in ENTRIES.values()]
    for article in ("000", "001", "002", "003", "004"):
        for example in (1, 2, 3):
            pattern = rf"{article}, .*examples? (?:\d(?:, | and ))*{example}"
            assert any(re.match(pattern, source) for source in sources), f"{article}, example {example}"


def test_the_catalogue_page_maps_every_scenario(root):
    text = (root / "docs" / "catalogue.md").read_text()
    assert not [id for id in ENTRIES if f"`{id}`" not in text]


def test_no_scenario_file_is_left_out():
    assert {path.stem for path in directory().glob("*.py")} == set(ENTRIES)


@pytest.fixture(scope="module")
def results() -> dict:
    script = HELPERS / "same_work.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.tensorflow
@pytest.mark.parametrize("id", ENTRIES)
def test_the_fix_does_not_win_by_doing_less(id, results):
    result = results[id]
    assert "error" not in result, result.get("error")
    if id in OTHER_RESULT:
        return
    tolerance = OTHER_NUMBERS.get(id, 1e-3)
    for broken, fixed in zip(result["broken"], result["fixed"], strict=True):
        assert_close(broken, fixed, tolerance)


def assert_close(a: object, b: object, tolerance: float) -> None:
    if isinstance(a, list):
        assert isinstance(b, list) and len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_close(x, y, tolerance)
    elif isinstance(a, float):
        assert np.isclose(a, b, rtol=tolerance, atol=tolerance), (a, b)
    else:
        assert a == b
