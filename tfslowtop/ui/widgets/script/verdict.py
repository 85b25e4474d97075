"""What the card says of a script: what is wrong, that nothing is, or what it is waiting for. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ....agent.protocol.names import GAUGE_CPU, PHASE_IMPORTING, PHASE_STARTING
from ....diagnosis.finding import Finding
from ....export.wording import counted, readable
from ....scenario import Fix
from ....state.streams import StreamView
from ....state.view import View
from ...format import duration, quantity
from ...output_text import lines

Kind = Literal["problem", "warning", "healthy", "crashed", "asking", "neutral"]
#: What `enter` on the card opens.
Opens = Literal["", "finding", "output", "typing"]

#: Steps, and seconds of them, before "healthy" is said: the first steps trace and warm up, and a verdict that
#: is taken back a second later is worse than none.
_ENOUGH_STEPS, _ENOUGH_SECONDS = 10, 1.0
#: From this share of the time on, a finding is an alarm and not only a warning.
_ALARM_SHARE = 0.2
#: Percent of a core below which a process does nothing but wait; the agent's own threads need about one.
_IDLE_CPU = 10.0
#: What prompts end with. A progress message such as "Training..." is none.
_PROMPT_ENDS = ("?", ":", ">", "]", " ")
#: Lines of output that are searched for the end of a traceback. Those through Keras often have thirty.
_TRACEBACK_LINES = 80
_TRACEBACK = "Traceback (most recent call last)"
_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)')
_LIBRARY = re.compile(r"[/\\](?:site-packages|dist-packages|lib[/\\]python3[^/\\]*)[/\\]|^<")


@dataclass(frozen=True, slots=True)
class Verdict:
    kind: Kind
    headline: str
    """The one line that is shown whatever the room."""
    details: tuple[str, ...] = ()
    opens: Opens = ""
    hint: str = ""
    """The keys that act on it."""
    title: str = ""
    """For the frame."""
    finding: Finding | None = None
    traceback: str = ""
    """What a crashed script wrote in the end."""

    @property
    def has_frame(self) -> bool:
        return self.kind in ("problem", "warning", "crashed", "asking")


def fix_keys(fixes: Sequence[Fix]) -> dict[str, str]:
    """Return the key of each fix that has one."""
    return {fix.id: str(n + 1) for n, fix in enumerate(fixes[:9])}


def judge(view: View, prompt: str = "", keys: Mapping[str, str] | None = None) -> Verdict:
    """Return the verdict; `prompt` is what the script asked and waits for an answer to, if it does.

    `keys` has the keys of fixes that can be tried in the running script.
    """
    ended = _crash(view) if view.ended is not None else None
    if ended is not None:
        return ended
    if prompt:
        hint = "enter to type an answer"
        return Verdict("asking", f"Waiting for your input: {prompt}", (), "typing", hint, "input")
    if view.process_state == "stopped" and view.ended is None:
        resume = f"kill -CONT {view.pid}" if view.pid else "kill -CONT"
        return Verdict("warning", f"The process is stopped (SIGSTOP); resume it with `{resume}`.")
    if view.findings:
        return _problem(view, keys or {})
    if view.ended is not None and view.ended.code != 0:
        return Verdict("neutral", view.ended.how, (), "output", "enter shows the output")
    return _without_findings(view)


def find_prompt(view: View) -> str:
    """Return the last, unfinished line of output if the script seems to wait for an answer to it."""
    if view.ended is not None or view.process_state != "sleeping" or view.output.endswith("\n"):
        return ""
    if view.readings.get(GAUGE_CPU, 0.0) > _IDLE_CPU:
        return ""
    last = lines(view.output[-2000:], 1)
    unfinished = last[0] if last else ""
    asks = unfinished.strip() and (unfinished.endswith(_PROMPT_ENDS) or view.output.endswith(" "))
    return unfinished.strip() if asks else ""


def _problem(view: View, keys: Mapping[str, str]) -> Verdict:
    from ....diagnosis.registry import causes  # loaded by the run; too slow for the first picture

    findings = view.findings
    first = findings[0]
    key, on = keys.get(first.fix.live or "", ""), first.fix.live in view.fixes
    act = f"{key} removes the fix · " if on else f"{key} tries the fix now · "
    number = f"1 of {len(findings)} · " if len(findings) > 1 else ""
    known = causes().get(first.cause)
    return Verdict(
        "problem" if first.basis != "not measured" and first.share >= _ALARM_SHARE else "warning",
        known.headline if known else readable(first.sentence),
        (readable(first.sentence),),
        "finding",
        f"{act if key and view.ended is None else ''}enter details",
        f"{number}{first.share_words}",
        first,
    )


def _crash(view: View) -> Verdict | None:
    """Return the exception that ended the script and where it was raised, or None if none did."""
    if view.ended is None or view.ended.code <= 0:
        return None
    written = lines(view.output, _TRACEBACK_LINES)
    begin = max((n for n, line in enumerate(written) if line.startswith(_TRACEBACK)), default=None)
    if begin is None and _TRACEBACK not in view.output:
        return None
    trace = [line for line in written[begin or 0 :] if line.strip()]
    flush = [line for line in trace[1:] if not line.startswith((" ", "\t"))] or trace[-1:] or [""]
    # The text of an exception may have several lines, and the first names it.
    raised = flush[0] if begin is not None else flush[-1]
    if raised.startswith("KeyboardInterrupt"):
        return None
    places = [match for line in trace if (match := _FRAME.match(line))]
    own = [match for match in places if not _LIBRARY.search(match["file"])] or places
    place = f"{own[-1]['file'].rsplit('/', 1)[-1]}:{own[-1]['line']}" if own else ""
    details = (f"at {place}" if place else "", view.ended.how)
    return Verdict(
        "crashed",
        raised,
        tuple(d for d in details if d),
        "output",
        "o to see the traceback",
        "crashed",
        traceback="\n".join(written[begin or 0 :]),
    )


def _without_findings(view: View) -> Verdict:
    step = next((s for s in view.streams if s.is_step), None)
    waited = f" … {duration((view.at - view.phase_since) / 1e9)}" if view.phase_since else " …"
    if view.ended is None and view.phase == PHASE_IMPORTING:
        return Verdict("neutral", f"importing {view.phase_detail}{waited}")
    if step is not None:
        return _pace(view, step)
    if view.healthy.startswith("Nothing"):  # of a NumPy program, which has no steps
        return Verdict("healthy", f"Healthy: {view.healthy[:1].lower()}{view.healthy[1:].rstrip('.')}")
    if view.ended is not None:
        return Verdict("neutral", "The script ended; nothing repeated often enough to be a step.")
    if view.phase == PHASE_STARTING and not view.tensorflow:
        return Verdict(
            "neutral",
            "Running, without TensorFlow so far.",
            ("Steps are found once TensorFlow is imported, or where tfslowtop.step() marks them.",),
        )
    return Verdict("neutral", "Looking for the step: nothing has repeated often enough yet.")


def _pace(view: View, step: StreamView) -> Verdict:
    """Return the verdict on a step with which no finding is concerned."""
    enough = step.calls >= _ENOUGH_STEPS and step.seconds >= _ENOUGH_SECONDS
    if not enough and view.ended is None:
        return Verdict("neutral", f"Measuring … {counted(step.calls, 'step')} so far")
    pace = f"{quantity(step.median, 's')} per step"
    direction = step.trend.direction if step.trend else "unclear"
    if direction == "rising":
        return Verdict("warning", f"{pace}, {step.words}; the cause is not known yet.")
    words = {"flat": ", steady", "falling": ", getting faster"}.get(direction, "")
    how = f" in {counted(step.calls, 'step')}; the script has ended" if view.ended else ""
    return Verdict("healthy", f"Healthy: {pace}{words}{how}")
