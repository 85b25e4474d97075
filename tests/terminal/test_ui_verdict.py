"""The card at the top of a script's screen."""

from __future__ import annotations

from dataclasses import replace

import pytest
import ui_script
from screens import SIZES, text, until
from ui_script import Recorded

from tfslowtop.agent.protocol.events import Ended
from tfslowtop.state.view import View
from tfslowtop.ui.finding_code import FindingCode
from tfslowtop.ui.screens.finding import FindingScreen
from tfslowtop.ui.screens.output import OutputScreen
from tfslowtop.ui.widgets.script.verdict import find_prompt, judge
from tfslowtop.ui.widgets.script.verdict_card import card_lines

SECOND = 1_000_000_000
ENDED = Ended(1, "The script ended with exit code 1.", 0)
DEEP = """Traceback (most recent call last):
  File "/home/me/train.py", line 31, in <module>
    main()
  File "/usr/lib/python3.12/site-packages/keras/src/utils.py", line 122, in error_handler
    raise e
ValueError: Shapes (3,) and (4,) are incompatible
Arguments received by Sequential.call():
  * inputs=tf.Tensor
"""


def words(app) -> str:
    """The screen without frames and line breaks."""
    return " ".join(text(app).replace("┃", " ").replace("│", " ").replace("|", " ").split())


@pytest.mark.parametrize("ascii", [False, True])
@pytest.mark.parametrize("size", SIZES)
async def test_the_answer_comes_first_and_enter_opens_it(monkeypatch, size, ascii):
    source = Recorded("dqn_replay")
    app = ui_script.app(monkeypatch, source, ascii=ascii)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "model.fit is called 30 times on a small input" in words(app))
        await until(pilot, lambda: "2 predict, evaluate or fit" in words(app))
        rows = text(app).splitlines()
        card = next(n for n, row in enumerate(rows) if "model.fit is called" in row)
        assert card <= 3 and card < next(n for n, row in enumerate(rows) if "step time" in row)
        assert "Dataset_flat_map" not in words(app), "nobody can change TensorFlow's own function"
        assert ("✗ " in text(app)) is not ascii and (not ascii or text(app).isascii())
        assert app.focused is app.screen.card
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, FindingScreen) and "predict-loop" in text(app))
        await pilot.press("escape", "down", "enter")
        await until(pilot, lambda: isinstance(app.screen, FindingScreen) and ":15" in text(app))


async def test_the_card_has_the_change(monkeypatch):
    changed = FindingCode(
        before="for x in y:\n    step(x, lr)", after="for x in y:\n    step(x, tf.constant(lr))"
    )
    monkeypatch.setattr(FindingCode, "of", classmethod(lambda cls, f: changed))
    app = ui_script.app(monkeypatch, Recorded("linear_schedule"))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "linear_schedule.py:24 - step(x, lr)" in words(app))
        assert "+ step(x, tf.constant(lr))" in words(app) and "97 % of the time" in words(app)
        await until(pilot, lambda: "Expect: A step takes at best" in words(app))
        assert "instead of 92.3 ms." in words(app)
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "linear_schedule.py:24 + step(x, tf.constant(lr))" in words(app))


@pytest.mark.parametrize("size", SIZES)
async def test_healthy_is_one_calm_line(monkeypatch, size):
    app = ui_script.app(monkeypatch, Recorded("custom_loop"))
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "✓ Healthy: 1.84 ms per step" in text(app))
        assert "input_signature" not in text(app), "advice would contradict it"
        assert app.screen.card.size.height == 1 and app.screen.card.has_class("-healthy")
        assert not app.check_action("findings", ()) or not app.screen.check_action("findings", ())


async def test_a_crash_opens_the_output(monkeypatch):
    source = Recorded("custom_loop")
    app = ui_script.app(monkeypatch, source)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app._view is not None)
        source.end(1, ENDED.how, DEEP)
        await until(pilot, lambda: "✗ ValueError: Shapes (3,) and (4,) are incompatible" in text(app))
        assert "at train.py:31" in text(app), "Keras' own line is not where to look"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, OutputScreen) and "error_handler" in text(app))


def test_ctrl_c_is_no_crash():
    stopped = Ended(130, "The script was stopped; its exit code is 130.", 0)
    view = replace(
        View.empty(), ended=stopped, output=DEEP.replace("ValueError: Shapes", "KeyboardInterrupt")
    )
    verdict = judge(view)
    assert verdict.kind == "neutral" and verdict.headline == stopped.how


def test_importing_is_all_that_is_said_while_importing():
    view = replace(
        View.empty(),
        phase="importing",
        phase_detail="TensorFlow",
        phase_since=SECOND,
        at=6 * SECOND,
        healthy="No step was seen: nothing that TensorFlow does repeated often enough.",
    )
    verdict = judge(view)
    assert verdict.headline == "importing TensorFlow … 5 s" and not verdict.details
    assert card_lines(verdict, None, 80, 40) == [[("· ", "bold"), ("importing TensorFlow … 5 s", "bold")]]


@pytest.mark.parametrize(
    ("output", "state", "cpu", "prompt"),
    [
        ("loading\nrun name? ", "sleeping", 1.0, "run name?"),
        ("run name:", "sleeping", 1.0, "run name:"),
        ("run name? ", "running", 1.0, ""),
        ("run name? ", "sleeping", 80.0, ""),
        ("run name?\n", "sleeping", 1.0, ""),
        ("Training...", "sleeping", 1.0, ""),
        ("", "sleeping", 1.0, ""),
    ],
)
def test_what_is_a_question(output, state, cpu, prompt):
    view = replace(View.empty(), output=output, process_state=state, readings={"cpu": cpu})
    assert find_prompt(view) == prompt
    assert find_prompt(replace(view, ended=ENDED)) == ""


def test_a_question_is_shown_with_how_to_answer():
    verdict = judge(View.empty(), "run name?")
    rows = ["".join(part for part, _ in row) for row in card_lines(verdict, None, 60, 16)]
    assert rows == ["? Waiting for your input: run name?", "  enter to type an answer"]


async def test_keys_that_cannot_act_say_why_once(monkeypatch):
    source = Recorded("custom_loop")
    app = ui_script.app(monkeypatch, source)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await until(pilot, lambda: "Healthy" in text(app))
        for key in "rdS":
            await pilot.press(key, key)
        said = ["is still running; r restarts", "There are no findings", "Select a stream first"]
        await until(pilot, lambda: all(words(app).count(reason) == 1 for reason in said))
        assert len(app._notifications) == 3 and source.sent == []
