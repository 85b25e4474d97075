"""The order of the catalogue and of what a search finds."""

from __future__ import annotations

import pytest

from tfslowtop.catalogue.find import all_entries
from tfslowtop.catalogue.search import SYMPTOMS, by_symptom, origin, ranked, symptom
from tfslowtop.scenario import KINDS

ENTRIES = all_entries()


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("graph grows", "graph_growth"),
        ("growing graph", "graph_growth"),
        ("predict", "predict_in_loop"),
        ("predict_in_loop", "predict_in_loop"),
        ("np.append", "append_history"),
        ("open sessions", "open_sessions"),
        ("FFT", "numpy_fft"),
    ],
)
def test_the_best_match_comes_first(words, first):
    assert ranked(ENTRIES, words)[0].id == first


def test_a_search_finds_what_is_only_in_the_code():
    found = [entry.id for entry in ranked(ENTRIES, "keras")]
    assert "predict_in_loop" in found and found[0] == "model_in_loop"


def test_every_word_counts():
    assert not ranked(ENTRIES, "graph zebra")
    assert {e.id for e in ranked(ENTRIES, "leaks")} >= {e.id for e in ENTRIES if e.scenario.kind == "leaks"}


def test_every_kind_is_a_symptom_and_none_is_split():
    assert set(SYMPTOMS) == set(KINDS)
    names = [symptom(entry).name for entry in by_symptom(ENTRIES)]
    changes = [name for n, name in enumerate(names) if n == 0 or names[n - 1] != name]
    assert len(changes) == len(set(changes)) and changes[0] == "gets slower"


def test_the_source_is_described_in_words():
    assert all(origin(entry)[:4] == "From" for entry in ENTRIES)
