"""What a toggle did, in the room that there is."""

from __future__ import annotations

import dataclasses

import pytest

from tfslowtop.analysis.effect import Ratio, sentence
from tfslowtop.ui.widgets.fixes import told


@pytest.fixture(scope="module")
def effect():
    """A real one: of the scripted run."""
    from tests.ui_source import Script
    from tfslowtop.agent.events import SetFixes
    from tfslowtop.analysis.session import Session

    script, session = Script(), Session()
    session.feed(script.events(0))
    script.send(SetFixes(("keep_list",)))
    session.feed(script.events(0))
    found = session.view(script.now, 10, 1.0).marks[-1].effect
    assert found is not None and found.verdict == "faster"
    return found


def test_with_room_it_is_the_whole_sentence(effect):
    assert told(effect, 200) == sentence(effect)


@pytest.mark.parametrize("width", range(18, 80))
def test_the_factor_and_the_end_are_never_cut(effect, width):
    text = told(effect, width)
    assert len(text) <= width
    assert text.startswith(sentence(effect).partition(" (")[0]) and text.endswith("→ flat")


def test_no_difference_needs_no_figures(effect):
    same = dataclasses.replace(effect, wall=Ratio(1.01, 0.97, 1.04), cpu=None)
    assert told(same, 60).startswith("no difference shown")
    assert "(" not in told(same, 30)
