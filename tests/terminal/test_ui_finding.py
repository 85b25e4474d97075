"""A finding's page: what to do, the change as a patch, and the keys that act on it."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import ui_script
from paths import CORPUS
from screens import text, until
from terminal import Terminal
from ui_script import Recorded

from tfslowtop.agent.protocol.events import FixAnswered, FixOffered, SetFixes, Toggled
from tfslowtop.agent.protocol.names import FIX_ON, FIX_REFUSED
from tfslowtop.ui.handover import editor_command
from tfslowtop.ui.screens.finding import FindingScreen


async def open_page(pilot, app) -> None:
    await until(pilot, lambda: app._view is not None and bool(app._view.findings))
    await pilot.press("d", "enter")
    await until(pilot, lambda: isinstance(app.screen, FindingScreen) and "as it runs" in whole(app))


def whole(app) -> str:
    """Everything on the page, also what has to be scrolled to."""
    return "\n".join(str(part.render()) for part in app.screen.query(".part"))


def footer(app) -> str:
    return text(app).splitlines()[-1]


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 16)])
async def test_what_to_do_stands_above_the_code(monkeypatch, size):
    app = ui_script.app(monkeypatch, Recorded("linear_schedule", corpus=str(CORPUS)))
    async with app.run_test(size=size) as pilot:
        await open_page(pilot, app)
        page = " ".join(whole(app).split())
        parts = ("Fix ", "Expect ", "Not tried on this program.", "- loss = ", "+ loss = ", "Why ", "> 24 ")
        places = [page.index(part) for part in parts]
        assert places == sorted(places), page
        assert "+ loss = train_step(xb, yb, tf.constant(lr))" in page


async def test_the_copied_patch_can_be_applied(monkeypatch, tmp_path):
    (tmp_path / "linear_schedule.py").write_text((CORPUS / "linear_schedule.py").read_text())
    monkeypatch.chdir(tmp_path)
    app = ui_script.app(monkeypatch, Recorded("linear_schedule", corpus=str(tmp_path)))
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await open_page(pilot, app)
        await until(pilot, lambda: "y Copy" in footer(app))
        await pilot.press("y")
        await until(pilot, lambda: "Patch copied (+1 -1)" in text(app))
        patch = app.clipboard
    subprocess.run(["git", "apply", "-"], input=patch.encode(), cwd=tmp_path, check=True)
    assert "tf.constant(lr)" in (tmp_path / "linear_schedule.py").read_text()


async def test_an_incomplete_change_is_a_sketch_and_is_not_copied(monkeypatch):
    app = ui_script.app(monkeypatch, Recorded("ocr_service", corpus=str(CORPUS)))
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await open_page(pilot, app)
        assert "as a sketch" in whole(app) and "Copy" not in footer(app)
        await pilot.press("y")
        await until(pilot, lambda: "There is no patch" in text(app))
        assert not app.clipboard


async def test_no_code_is_shown_that_is_not_the_users(monkeypatch):
    app = ui_script.app(monkeypatch, Recorded("linear_schedule"))  # its file cannot be read here
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app._view is not None and bool(app._view.findings))
        await pilot.press("d", "enter")
        await until(pilot, lambda: "tfslowtop help retrace-python-value" in text(app))
        assert "tf.constant(" not in whole(app)


async def test_keys_that_cannot_act_say_why(monkeypatch):
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    app = ui_script.app(monkeypatch, Recorded("linear_schedule", corpus=str(CORPUS)))
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await open_page(pilot, app)
        assert "E Edit" not in footer(app)
        await pilot.press("E")
        await until(pilot, lambda: "No editor is set" in text(app))


async def test_readonly_starts_no_other_program(monkeypatch):
    monkeypatch.setenv("EDITOR", "false")
    app = ui_script.app(monkeypatch, Recorded("linear_schedule", corpus=str(CORPUS)), readonly=True)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await open_page(pilot, app)
        await until(pilot, lambda: "y Copy" in footer(app))
        assert "E Edit" not in footer(app) and "See it" not in footer(app)
        await pilot.press("E", "v")
        await until(pilot, lambda: "Read-only" in text(app))


@pytest.mark.parametrize(
    ("env", "wanted"),
    [
        ({"EDITOR": "vi"}, ["vi", "+7", "f.py"]),
        ({"VISUAL": "/usr/bin/emacs -nw", "EDITOR": "vi"}, ["/usr/bin/emacs", "-nw", "+7", "f.py"]),
        ({"EDITOR": "code --wait"}, ["code", "--wait", "--goto", "f.py:7"]),
        ({"EDITOR": "hx"}, ["hx", "f.py:7"]),
        ({"EDITOR": "unheard-of"}, ["unheard-of", "f.py"]),
        ({"EDITOR": "vi 'oops"}, []),
        ({}, []),
    ],
)
def test_editors_are_told_the_line_in_their_own_way(env, wanted):
    assert editor_command("f.py", 7, env) == wanted


@pytest.mark.terminal
def test_the_editor_gets_the_terminal_and_the_app_gets_it_back(tmp_path):
    out = tmp_path / "out"
    editor = tmp_path / "vi"
    editor.write_text(f'#!/bin/sh\nstty -a > {out}.stty; echo "$@" > {out}; echo IN THE EDITOR; read line\n')
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    program = (
        "import sys; sys.path[:0] = sys.argv[1:3]\n"
        "import pytest, ui_script\n"
        "from ui_script import Recorded\n"
        "with pytest.MonkeyPatch.context() as patch:\n"
        "    ui_script.app(patch, Recorded('linear_schedule', corpus=sys.argv[3])).run()\n"
    )
    helpers, root = Path(ui_script.__file__).parent, CORPUS.parents[2]
    terminal = Terminal(
        [sys.executable, "-c", program, str(helpers), str(root), str(CORPUS)],
        env={"EDITOR": str(editor), "VISUAL": ""},
    )
    try:
        terminal.wait_for("Findings")
        terminal.wait_for("retrace-python-value")
        terminal.press("d\r")
        terminal.wait_for("E Edit")
        terminal.press("E")
        terminal.wait_for("IN THE EDITOR")
        assert out.read_text() == f"+24 {CORPUS / 'linear_schedule.py'}\n"
        assert " echo" in Path(f"{out}.stty").read_text().replace("-echo ", "")
        os.killpg(terminal.process.pid, signal.SIGINT)  # Ctrl-C ends the editor, and not the app
        terminal.wait_for("vi was ended by SIGINT")
        terminal.press("\x1b")
        terminal.wait_for("d Findings")
        terminal.process.terminate()
        assert terminal.finish() == 0
    finally:
        terminal.close()


OFFER = ("numbers:train_step", "pass lr to train_step as a tensor", "retrace-python-value")


async def test_the_key_of_a_live_fix_is_on_the_card_and_on_the_page(monkeypatch):
    source = Recorded("linear_schedule", corpus=str(CORPUS))
    app = ui_script.app(monkeypatch, source)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await until(pilot, lambda: app._view is not None and bool(app._view.findings))
        f = app._view.findings[0]
        source.put(FixOffered(*OFFER, f.file, f.line, f.symbol))
        await until(pilot, lambda: "1 tries the fix now" in text(app) and "1 [ ] pass lr" in text(app))
        await pilot.press("1")
        await until(pilot, lambda: SetFixes((OFFER[0],)) in source.sent and "1 […] pass lr" in text(app))
        source.put(FixAnswered(OFFER[0], FIX_ON, "Same results.", 1), Toggled(40, (OFFER[0],), 1))
        await pilot.press("d", "enter")
        await until(pilot, lambda: isinstance(app.screen, FindingScreen) and "Tried" in whole(app))
        await pilot.press("1")
        await until(pilot, lambda: source.sent[-1] == SetFixes(()))
        source.put(FixAnswered(OFFER[0], FIX_REFUSED, "The body prints.", 2))
        await until(pilot, lambda: "Refused: The body prints." in whole(app))
        assert "Refused: The body prints." in text(app)
        await pilot.press("1")
        await until(pilot, lambda: source.sent[-1] == SetFixes((OFFER[0],)))


async def test_a_fix_cannot_be_switched_read_only(monkeypatch):
    source = Recorded("linear_schedule", corpus=str(CORPUS))
    app = ui_script.app(monkeypatch, source, readonly=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app._view is not None and bool(app._view.findings))
        f = app._view.findings[0]
        source.put(FixOffered(*OFFER, f.file, f.line, f.symbol))
        await until(pilot, lambda: "pass lr" in text(app))
        await pilot.press("1", "0")
        assert not [command for command in source.sent if isinstance(command, SetFixes)]
