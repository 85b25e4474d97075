"""The card with the effect of the newest toggle or A/B test, and numbers that agree with it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

import numpy as np
import pytest
from screens import SIZES, text, until

from tfslowtop.agent.protocol.events import SAMPLE, Block, Event, Samples, Stream, Toggled
from tfslowtop.scenario import Fix
from tfslowtop.state.session import Session
from tfslowtop.state.verdict import live
from tfslowtop.stats.effect import describe_slopes, sentence
from tfslowtop.ui.widgets.effect_card import brief_words, large_words, newest_effect

SECOND = 1_000_000_000
FIXES = (Fix("one", "the first"), Fix("two", "the second"))


class Playing:
    """A kernel whose times are given: 100 iterations a second."""

    def __init__(self) -> None:
        self.session, self.now, self.count = Session(), SECOND, 0
        self._random = np.random.default_rng(1)
        self.feed(Stream(1, "kernel", "kernel", "x.py", 1), Toggled(0, (), self.now))

    def feed(self, *events: Event) -> None:
        self.session.feed(events)

    def play(self, level: float, seconds: float = 5.0, growth: float = 0.0) -> None:
        records = []
        for _ in range(int(100 * seconds)):
            level *= 1 + growth
            wall = int(1e9 * level * (1 + 0.02 * self._random.standard_normal()))
            records.append(SAMPLE.pack(self.now, wall, wall))
            self.now += SECOND // 100
        self.feed(Samples(1, self.count, b"".join(records)))
        self.count += len(records)
        self.session.view(self.now, 10, 1.0)

    def toggle(self, *fixes: str) -> None:
        self.feed(Toggled(self.count, fixes, self.now))

    def test(self, levels: Sequence[float], pairs: int = 12) -> None:
        for _ in range(pairs):
            for arm, level in enumerate(levels):
                self.feed(Block(self.count, arm, ("one",) * arm, self.now))
                self.play(level, 0.3)
        self.feed(Block(self.count, -1, (), self.now))

    def view(self):
        return self.session.view(self.now, 10, 1.0)


def test_several_fixes_are_measured_against_the_time_before_the_first():
    run = Playing()
    for level, fixes in ((0.016, ()), (0.006, ("one",)), (0.001, ("one", "two"))):
        if fixes:
            run.toggle(*fixes)
        run.play(level)
    view = run.view()
    first, second = view.marks
    assert first.total is None and first.effect.ratio == pytest.approx(16 / 6, rel=0.05)
    assert second.effect.ratio == pytest.approx(6, rel=0.05)
    assert second.total.ratio == pytest.approx(16, rel=0.05)
    newest = newest_effect(view, FIXES)
    assert newest.title == "fixes 1+2 together" and newest.last.startswith("fix 2 on: ×6.0 faster")
    assert live(view, (), ("two",)).words == "constant penalty: ×16.0 slower than fixed"
    assert newest.effect.level_before / newest.effect.level_after == pytest.approx(
        newest.effect.ratio, rel=0.02
    )
    run.toggle("two")
    run.play(0.003)
    assert newest_effect(run.view(), FIXES).title == "fix 2 alone"
    run.toggle()
    run.play(0.016)
    newest = newest_effect(run.view(), FIXES)
    assert newest.title == "fix 2 off" and newest.effect.verdict == "slower"


def test_after_new_parameters_there_is_nothing_to_compare_with():
    run = Playing()
    run.play(0.016)
    run.toggle("one")
    run.play(0.006)
    run.toggle("one")  # as after new parameters: nothing changed, but the state is new
    run.play(0.06)
    run.toggle("one", "two")
    run.play(0.02)
    assert run.view().marks[-1].total is None and run.view().marks[-1].effect.ratio == pytest.approx(
        3, rel=0.05
    )


def test_an_ab_test_is_shown_until_the_next_toggle():
    run = Playing()
    run.play(0.01)
    run.toggle("one")
    run.play(0.005)
    run.test((0.01, 0.002))
    newest = newest_effect(run.view(), FIXES)
    assert newest.is_test and newest.effect.ratio == pytest.approx(5, rel=0.05)
    assert "×5.0 slower" in live(run.view(), (), ("one",)).words
    run.toggle("two")
    run.play(0.001)
    assert not newest_effect(run.view(), FIXES).is_test


def test_something_that_grows_has_no_constant_penalty():
    run = Playing()
    run.play(0.01)
    run.test((0.01, 0.002))
    assert live(run.view(), (), ("one",)).outcome == "constant penalty"
    words = live(run.view(), (), ("one",), "grows").words
    assert words == "×5.0 slower than fixed; whether it grows is not clear yet"


def test_what_is_not_clear_yet_is_settling():
    run = Playing()
    run.play(0.01, 30, growth=0.001)
    run.toggle("one")
    run.play(0.002, 2)
    effect = run.view().marks[-1].effect
    unclear = dataclasses.replace(effect, after=dataclasses.replace(effect.after, direction="unclear"))
    assert describe_slopes(unclear).endswith("→ settling") and "unclear" not in sentence(unclear)
    both = dataclasses.replace(unclear, before=unclear.after)
    assert describe_slopes(both) == "", "two things that are not known are not worth a word"
    newest = dataclasses.replace(newest_effect(run.view(), FIXES), effect=None)
    assert large_words(newest) == ["settling …"] and brief_words(newest, (), 80) == "fix 1 on: settling …"


@pytest.mark.parametrize("width", [40, 56, 60, 78, 120])
def test_one_line_keeps_the_ratio_whatever_the_width(width):
    run = Playing()
    run.play(0.01, 30, growth=0.001)
    run.toggle("one")
    run.play(0.002)
    newest = newest_effect(run.view(), FIXES)
    line = brief_words(newest, ("27.0 ms", "2.00 ms"), width)
    assert len(line) <= width and re.search(r"×\d+\.\d faster", line)


@pytest.mark.parametrize("ascii", [False, True])
@pytest.mark.parametrize("size", SIZES)
async def test_the_effect_stands_above_the_fixes(play, size, ascii):
    async def act(pilot, app, script):
        assert not app.screen.query_one("#effect").display
        await pilot.press("1")
        await until(pilot, lambda: re.search(r"[×x]7\.5 faster", text(app)))
        await pilot.press("2")
        await until(pilot, lambda: "fixes 1+2 together" in text(app))
        await until(pilot, lambda: "no difference shown" in text(app))
        rows = text(app).splitlines()
        card = next(n for n, row in enumerate(rows) if "fixes 1+2 together" in row)
        assert card < next(n for n, row in enumerate(rows) if "[x]" in row)
        assert not ascii or text(app).isascii()
        await pilot.press("0")
        await until(pilot, lambda: "all fixes off" in text(app))
        await until(pilot, lambda: "faster when on" in text(app))
        assert "with others" not in text(app)

    await play(act, size, ascii=ascii)
