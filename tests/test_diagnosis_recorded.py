"""The rules on recordings of real runs: one for each cause, and healthy ones on which every rule is silent.

`python tests/corpus_run.py --record` makes them anew.
"""

from __future__ import annotations

import functools

import corpus_run
import pytest
from corpus_run import TALLIED, Case, judge, recorded
from recording import HERE, RECORDINGS, Record, batches, load, save

from tfslowtop.agent.events import SAMPLE, Folded, Phase, Reason, Samples, Stream, Trace
from tfslowtop.analysis.diagnosis.diagnose import RULES, diagnose
from tfslowtop.analysis.diagnosis.facts import Facts, gather
from tfslowtop.analysis.diagnosis.texts import TEXTS
from tfslowtop.analysis.session import Session

#: What the machine does is not in a script; these causes are tested with sensors that read it.
MACHINE = ("cpu-", "memory-", "gpu-")
CASES = corpus_run.cases()
SLOW = [case for case in CASES if case.cause]
HEALTHY = [case for case in CASES if not case.cause]


def name(case: Case) -> str:
    return case.script.removesuffix(".py")


@functools.cache
def facts(case: Case) -> Facts:
    """As they were at the end of the run."""
    records, error = load(recorded(case))
    assert error == ""
    session = Session()
    for _, batch in batches(records, TALLIED):
        session.feed(batch)
    session.streams.think_all()
    session.view(records[-1].at, 2, 0.5)
    return gather(session, records[-1].at)


def test_a_recording_comes_back_as_it_was(tmp_path):
    at = 5_000_000_000
    reason = Reason("x", "retrace-shape", "(1,)", "(2,)")
    few = b"".join(SAMPLE.pack(at + i * 1000, 7000, 3000) for i in range(3))
    said = [
        Record(at, Stream(1, "f", "function", f"{HERE}/corpus/a.py", 3)),
        Record(at + 2000, Samples(1, 0, few)),
        Record(at + 3000, Trace("f", "", 0, 2, at + 1000, 4000, (reason,), nested=True)),
        Record(at + 4000, Samples(1, 3, few * 40)),
    ]
    save(tmp_path / "a.rec", said, "an error")
    (stream, samples, trace, many), error = load(tmp_path / "a.rec")
    assert error == "an error" and samples.at - stream.at == 2000
    assert stream.event == Stream(1, "f", "function", "/corpus/a.py", 3)
    moved = at - stream.at
    assert [s - moved for s in SAMPLE.unpack_from(few)][:1] == [SAMPLE.unpack_from(samples.event.packed)[0]]
    assert trace.event.reasons == (reason,) and trace.event.nested and trace.event.at == stream.at + 1000
    assert (type(many.event), many.event.count, many.event.wall_sum) == (Folded, 120, 120 * 7000)


@pytest.mark.parametrize("case", SLOW, ids=name)
def test_the_first_finding_is_the_cause_at_its_line(case):
    result = judge(case, recorded(case), timed=False)
    assert result.right, f"{result.causes} at `{result.line}`: {result.text}"


@pytest.mark.parametrize("case", HEALTHY, ids=name)
def test_a_healthy_one_is_never_accused_while_it_runs(case):
    records, _ = load(recorded(case))
    session = Session()
    for now, batch in batches(records, TALLIED):
        session.feed(batch)
        found = session.view(now, 2, 0.5).findings
        assert found == (), (
            f"after {(now - records[0].at) / 1e9:.0f} s: {found[0].cause}, {found[0].sentence}"
        )


@pytest.mark.parametrize("case", SLOW, ids=name)
def test_a_cause_is_found_by_its_rule_alone(case):
    """Not only because nothing else was found."""
    assert case.cause in {f.cause for rule in RULES for f in rule(facts(case))}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("case", HEALTHY, ids=name)
def test_on_healthy_programs_each_rule_is_silent(case, rule):
    assert [f"{f.cause}: {f.sentence}" for f in rule(facts(case))] == []


def test_shares_are_of_the_same_time_wherever_they_are_told():
    """The import of TensorFlow, which comes before, is in none of them."""
    case = corpus_run.cases("linear_schedule")[0]
    records, _ = load(recorded(case))
    session = Session()
    session.feed([Phase("starting", "", records[0].at - 60_000_000_000)])
    session.feed([r.event for r in records])
    view = session.view(records[-1].at, 2, 0.5)
    step, found = next(s for s in view.streams if s.is_step), view.findings[0]
    assert found.cost_seconds / found.share == pytest.approx(step.seconds / step.share, rel=0.01)
    assert found.share < step.share


@pytest.mark.parametrize("case", CASES, ids=name)
def test_a_recording_says_the_same_twice(case):
    """A finding is a function of the facts, and reads none that change."""
    assert diagnose(facts(case)) == diagnose(facts(case))


def test_every_cause_has_a_recording_and_all_of_them_are_small():
    wanted = {cause for cause in TEXTS if not cause.startswith(MACHINE)}
    assert {case.cause for case in SLOW} == wanted
    sizes = {path.name: path.stat().st_size for path in RECORDINGS.iterdir()}
    assert set(sizes) == {recorded(case).name for case in CASES}
    assert sum(sizes.values()) < 2_000_000
