"""The words of headless output: plurals, units, and one name for code outside of any function."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tfslowtop.agent.protocol.events import Ended
from tfslowtop.diagnosis.finding import Finding, Fix
from tfslowtop.export.findings import describe_findings, finding, verdict
from tfslowtop.export.limits import Limits, judge
from tfslowtop.export.scenarios import Result, summary
from tfslowtop.export.summary import summary as script_summary
from tfslowtop.export.verify import table
from tfslowtop.export.wording import counted, times
from tfslowtop.state.session import Session
from tfslowtop.state.verdict import Verdict
from tfslowtop.state.view import View
from tfslowtop.stats.trend import Trend, describe_leak

FLAT = Trend("flat", slope=0.0, low=0.0, high=0.0, level=1.0, n=10, why="")


@pytest.fixture
def result() -> Result:
    return Result(
        id="mine", kind="leaks", claim="", fixes=(), iterations=1, median_ms=2.0, p95_ms=3.0, latency=None,
        memory=None, pause_share=0.0, retraces=1, effect=None, verdict=Verdict("measuring", "not measured"),
        as_declared=None, seconds=1.0, load=0.0,
    )  # fmt: skip


def test_one_of_a_thing_is_singular(result):
    assert [counted(n, "trace") for n in (0, 1, 2, 1204)] == [
        "0 traces",
        "1 trace",
        "2 traces",
        "1,204 traces",
    ]
    assert [times(n) for n in (1, 2, 1204)] == ["once", "2 times", "1,204 times"]
    assert summary(result).startswith("mine: 1 iteration, median 2 ms, p95 3 ms, 1 trace\n")
    assert "2 iterations, " in summary(replace(result, iterations=2))


def test_a_script_is_described_in_the_same_words():
    view = replace(View.empty(), lost=1)
    assert "\n  dropped: 1 sample" in script_summary(["a.py"], view, Session(), "")
    once = SimpleNamespace(functions={1: SimpleNamespace(function="step", avoidable=1)})
    limits = Limits(retraces=0, slope=None, leak=None, causes=frozenset())
    assert judge(limits, view, SimpleNamespace(retraces=once)) == ["step was retraced once; the limit is 0."]


def test_a_thousand_bytes_are_a_kb_everywhere(result):
    leak = replace(FLAT, direction="rising", slope=25e3)
    assert describe_leak(leak) == "+25.0 kB/it leak"
    assert "| +25.0 kB |" in table([replace(result, memory=leak)])


def test_code_outside_of_any_function_has_one_name():
    found = Finding(
        cause="eager-step", file="/a/b.py", line=3, symbol="<module>", since_step=0, cost_seconds=1.0,
        share=0.5, confidence="high", sentence="<module> runs 9 ops.", fix=Fix("", ""),
    )  # fmt: skip
    view = replace(View.empty(), findings=(replace(found, symptoms=(found,)),))
    texts = [*describe_findings(view), verdict(view), finding(found)["symbol"], finding(found)["sentence"]]
    assert not [text for text in texts if "<module>" in text]
    assert "b.py:3   " in texts[0] and finding(found)["symbol"] == "top level"
    assert "b.py:3 (step)" in describe_findings(replace(view, findings=(replace(found, symbol="step"),)))[0]


def test_a_script_that_ended_unwatched_is_not_said_to_lack_anything():
    view = replace(View.empty(), ended=Ended(4, "The script ended with exit code 4.", 1))
    text = script_summary(["train.py"], view, Session(), "")
    assert text == "tfslowtop: train.py: The script ended with exit code 4 while nobody was watching"
