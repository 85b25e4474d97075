"""What a toggle did, in the room that there is."""

from __future__ import annotations

import dataclasses

import pytest
from ui_source import Script

from tfslowtop.agent.protocol.events import SetFixes
from tfslowtop.state.session import Session
from tfslowtop.stats.effect import Ratio, sentence
from tfslowtop.ui.widgets.effect_card import cured_leak
from tfslowtop.ui.widgets.fixes import describe_effect


@pytest.fixture(scope="module")
def effect():
    """A real one: of the scripted run."""
    script, session = Script(), Session()
    session.feed(script.events(0))
    script.send(SetFixes(("keep_list",)))
    session.feed(script.events(0))
    found = session.view(script.now, 10, 1.0).marks[-1].effect
    assert found is not None and found.verdict == "faster"
    return found


def test_with_room_it_is_the_whole_sentence(effect):
    assert describe_effect(effect, 200) == sentence(effect)


@pytest.mark.parametrize("width", range(18, 80))
def test_the_factor_and_the_end_are_never_cut(effect, width):
    text = describe_effect(effect, width)
    assert len(text) <= width
    assert text.startswith(sentence(effect).partition(" (")[0]) and text.endswith("→ flat")


def test_no_difference_needs_no_figures(effect):
    same = dataclasses.replace(effect, wall=Ratio(1.01, 0.97, 1.04), cpu=None)
    assert describe_effect(same, 60).startswith("no difference shown")
    assert "(" not in describe_effect(same, 30)


def test_what_is_for_memory_is_told_by_memory(effect):
    script, session = Script(), Session()
    session.feed(script.events(0))
    session.view(script.now, 10, 1.0)  # it thinks when it is looked at
    script.send(SetFixes(("keep_list",)))
    script.play(20)
    session.feed(script.events(0))
    before, after = session.view(script.now, 10, 1.0).segments
    memory = cured_leak(before, after)
    assert memory == "+50.0 kB/it leak → flat"
    assert cured_leak(after, before) == cured_leak(None, after) == cured_leak(before, before) == ""
    same = dataclasses.replace(effect, wall=Ratio(1.01, 0.97, 1.04), cpu=None)
    assert describe_effect(same, 80, memory) == f"memory {memory}; latency: no difference shown"
    assert describe_effect(same, 40, memory) == f"memory {memory}"
    assert describe_effect(effect, 200, memory) == f"{sentence(effect)}; memory {memory}"
    assert describe_effect(effect, 40, memory) == describe_effect(effect, 40)
