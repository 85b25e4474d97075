"""Nothing that a script calls itself or its functions reaches the terminal raw."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
import typing
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from terminal import Terminal

from tfslowtop.agent.protocol import events
from tfslowtop.agent.protocol.events import SAMPLE, Event, Reason
from tfslowtop.clean import clean, cleaned
from tfslowtop.export.findings import describe_findings, verdict
from tfslowtop.export.summary import summary
from tfslowtop.run import Lens, Run
from tfslowtop.ui.output_text import lines

SECOND = 1_000_000_000
#: A title, a write to the clipboard, C1, overrides of the direction, a lone surrogate, a forged line.
NASTY = (
    "\x1b]0;pwned\x07\x1b]52;c;cHc=\x07\x9b31m\x00\x7f\u202eabc\u2066\u061c\udce9\r\n\u2028tfslowtop: fine"
)
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def nasty(kind: type, number: int = 1) -> Event:
    """One of them with every text as nasty as can be."""
    hints = typing.get_type_hints(kind)
    values = {
        int: number,
        str: NASTY,
        bool: False,
        float: 1.0,
        bytes: SAMPLE.pack(SECOND, 1_000_000, 1_000_000),
        tuple[str, ...]: (NASTY, "plain"),
        tuple[int, ...]: (1, 2, 3),
        tuple[Reason, ...]: (Reason(*[NASTY] * 8),),
    }
    plain = {name: getattr(hint, "__supertype__", hint) for name, hint in hints.items()}
    return kind(**{field.name: values[plain[field.name]] for field in dataclasses.fields(kind)})


KINDS = typing.get_args(Event)


def texts(thing: object) -> Iterator[str]:
    """Every text in it, however deep."""
    if isinstance(thing, str):
        yield thing
    elif dataclasses.is_dataclass(thing):
        for field in dataclasses.fields(thing):
            yield from texts(getattr(thing, field.name))
    elif isinstance(thing, dict):
        yield from texts(list(thing) + list(thing.values()))
    elif isinstance(thing, (list, tuple, set, frozenset)):
        for part in thing:
            yield from texts(part)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_text_of_every_event_is_clean(kind):
    (event,) = cleaned([nasty(kind)])
    for text in texts(event):
        if kind is events.Output:  # its lines are made by the screen
            text = "".join(lines(text))
        if kind is events.Failed:
            text = text.replace("\n", "")
        assert not UNSAFE.search(text), ascii(text)
    assert cleaned([event]) == [event]


class Said:
    """A source that says these and ends."""

    pid = None

    def __init__(self, said: Sequence[Event]) -> None:
        self._said = list(said)

    def start(self) -> None:
        pass

    def rest(self, seconds: float) -> bool:
        return False

    def events(self, timeout: float) -> list[Event]:
        said, self._said = self._said, []
        return said

    def send(self, command: object) -> None:
        pass

    def stop(self) -> None:
        pass

    def close(self) -> None:
        pass


def test_all_that_is_shown_of_it_is_clean():
    """The view, the findings and the summary, of a script that does all that is told of one."""
    whats = ("kept-tensor", "created-variable", "created-function", "pull", "compile", "feed", "print")
    numbers = (
        events.Samples,
        events.Folded,
        events.StepChosen,
        events.Trace,
        events.Ended,
        events.Toggled,
        events.Block,
    )  # these need to make sense
    said: list[Event] = [nasty(kind, 7) for kind in KINDS if kind not in numbers]
    said[1:1] = [events.Stream(1, NASTY, kind, NASTY, 3) for kind in ("function", "loop")]
    packed = b"".join(SAMPLE.pack(SECOND + k * SECOND // 100, 9_000_000, 9_000_000) for k in range(500))
    said += [events.Samples(1, 0, packed), events.StepChosen(1, NASTY, SECOND)]
    said += [
        events.Trace(NASTY, NASTY, 3, k, SECOND + k * SECOND // 20, SECOND // 25, cause, NASTY, 4)
        for k in range(1, 60)
        for cause in [(Reason(NASTY, "retrace-python-value", f"{NASTY}{k}", f"{NASTY}{k + 1}"),)]
    ]
    said += [
        events.Tally(what, NASTY, NASTY, 5, 400 * k, SECOND * k, 10**9 * k, k * SECOND)
        for what in whats
        for k in (1, 2, 3, 4, 5)
    ]
    said.append(events.Ended(1, NASTY, 6 * SECOND))
    views = []
    run = Run(Said(said), Lens(), views.append)
    run.pump()
    view = dataclasses.replace(views[-1], output="", failure=None)
    assert view.findings, "there is something to tell"
    shown = [*texts(view), *describe_findings(view), verdict(view)]
    shown += summary([NASTY, NASTY], view, run.session, False).splitlines()
    for text in shown:
        text = text if "\n" not in text else text.replace("\n", "")  # the code of a change
        assert not UNSAFE.search(text), ascii(text)


@given(st.text(alphabet=st.characters(), max_size=100))
def test_clean_text_is_printable_and_stays_as_it_is(text):
    once = clean(text)
    assert not UNSAFE.search(once) and clean(once) == once
    assert not UNSAFE.search("".join(lines(text.encode(errors="replace").decode())))


NAME = "\x1b]0;pwned\x07\x9b31m\u202e.py"


def test_headless_says_its_name_in_plain_characters(tmp_path):
    script = tmp_path / NAME
    script.write_text("pass\n")
    command = [sys.executable, "-m", "tfslowtop", "--headless", "--attach", str(script), "\x1b[2J"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert r"\x1b]0;pwned\x07\x9b31m\u202e.py \x1b[2J" in done.stderr
    assert not UNSAFE.search(done.stderr.replace("\n", ""))
    missing = subprocess.run([*command[:5], f"{script}x"], capture_output=True, text=True)
    assert missing.returncode == 2 and not UNSAFE.search(missing.stderr.replace("\n", ""))


@pytest.mark.terminal
def test_and_so_does_the_app(tmp_path):
    script = tmp_path / NAME
    script.write_text(f"print({NAME!r})\n")
    terminal = Terminal([sys.executable, "-m", "tfslowtop", "--attach", str(script)], width=100)
    try:
        terminal.wait_for(r"ended")
        terminal.press("o")
        terminal.wait_for("Output of")
        terminal.press("q")
        assert terminal.finish() == 0
        everything = terminal.raw.decode(errors="ignore")  # it may begin within a character
        assert "\x1b]0;pwned" not in everything and "\x9b" not in everything and "\u202e" not in everything
        assert r"\x1b]0;pwned" in everything
    finally:
        terminal.close()
