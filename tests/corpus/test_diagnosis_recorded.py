"""The detectors on recordings of real runs: one or more for each cause, and healthy ones without a finding.

To make the recordings again, run `python tests/corpus/corpus_run.py --record`; to update the list of their
findings, run `python tests/corpus/golden.py`.
"""

from __future__ import annotations

import functools
from dataclasses import replace

import corpus_run
import golden
import pytest
from corpus_run import TALLIED, Case, named, recorded, replay
from paths import RECORDINGS
from recording import load, with_paths

from tfslowtop.agent.protocol.events import Phase, StepChosen
from tfslowtop.diagnosis import registry
from tfslowtop.diagnosis.engine import diagnose
from tfslowtop.diagnosis.facts import Facts, gather
from tfslowtop.sources.recording import batches
from tfslowtop.state.session import Session
from tfslowtop.state.view import View

CASES = corpus_run.cases()
SLOW = [case for case in CASES if case.cause]
HEALTHY = [case for case in CASES if not case.cause]


def name(case: Case) -> str:
    return case.script.removesuffix(".py")


@functools.cache
def outcome(case: Case) -> tuple[Facts, View]:
    """Return the facts and the view at the end of the run."""
    records, error = load(recorded(case))
    assert error == ""
    session, view = replay(records)
    return gather(session, records[-1].at), view


@pytest.mark.parametrize("case", CASES, ids=name)
def test_findings_are_those_of_the_golden_file(case):
    """After an intended change run `python tests/corpus/golden.py`; explain the change in the commit."""
    assert golden.lines(case, outcome(case)[1]) == golden.kept()[name(case)]


def test_the_golden_file_has_no_other_lines():
    assert list(golden.kept()) == sorted(map(name, CASES))


@pytest.mark.parametrize("case", SLOW, ids=name)
def test_the_first_finding_is_the_cause_at_its_line(case):
    _, view = outcome(case)
    line, right = named(case, view)
    assert right, f"{[f.label for f in view.findings]} at `{line}`"


@pytest.mark.parametrize("case", HEALTHY, ids=name)
def test_a_healthy_program_never_gets_a_finding_while_it_runs(case):
    records, _ = load(recorded(case))
    session = Session()
    for now, batch in batches(records, TALLIED):
        session.feed(batch)
        found = session.view(now, 2, 0.5).findings
        assert found == (), (
            f"after {(now - records[0].at) / 1e9:.0f} s: {found[0].cause}, {found[0].sentence}"
        )


@pytest.mark.parametrize("case", SLOW, ids=name)
def test_a_cause_is_found_by_its_detector(case):
    """Not only because no other finding hides it."""
    assert case.cause in {f.cause for d in registry.detectors().values() for f in d.run(outcome(case)[0])}


@pytest.mark.parametrize("case", HEALTHY, ids=name)
def test_every_detector_is_silent_on_a_healthy_program(case):
    """That includes findings that would be hidden as symptoms."""
    at_end, _ = outcome(case)
    for facts in (at_end, replace(at_end, ended=False)):
        found = {name: detector.run(facts) for name, detector in registry.detectors().items()}
        assert {name: [f.sentence for f in said] for name, said in found.items() if said} == {}


@pytest.mark.parametrize("script", ["sensor_thread", "click_features"])
def test_a_finding_does_not_depend_on_how_the_step_was_named(script):
    (case,) = corpus_run.cases(script)
    records = [
        replace(r, event=replace(r.event, why="named by --step")) if isinstance(r.event, StepChosen) else r
        for r in load(recorded(case))[0]
    ]
    assert golden.lines(case, replay(records)[1]) == golden.kept()[script]


#: Of these some line counted as a library's, by its path, when the program itself was an installed package.
INSTALLED = [
    "augment_images", "checkpoint_often", "click_features", "double_dqn_grid", "eval_probe",
    "keyword_spotting", "leaf_photos", "mpc_glider", "particle_filter", "pgd_robustness", "reacher_ddpg",
    "river_levels", "sensor_thread", "slow_logger", "style_transfer", "weights_board",
]  # fmt: skip


@pytest.mark.parametrize("script", INSTALLED)
def test_the_same_is_found_when_the_program_is_an_installed_package(script):
    """`python -m shop.train`: the agent knows whose code it is; the path does not show it."""
    (case,) = corpus_run.cases(script)
    package = (("/corpus/", "/env/lib/python3.11/site-packages/shop/"),)
    records = [replace(r, event=with_paths(r.event, package)) for r in load(recorded(case))[0]]
    assert golden.lines(case, replay(records)[1]) == golden.kept()[script]


def test_all_shares_refer_to_the_same_time():
    """None of them includes the import of TensorFlow."""
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
def test_diagnosing_twice_gives_the_same_findings(case):
    """Findings depend on the facts alone."""
    facts, _ = outcome(case)
    assert diagnose(facts) == diagnose(facts)


def test_every_cause_has_a_recording_and_all_of_them_are_small():
    """No script makes the machine slow: test_diagnosis_machine tests those causes with scripted readings."""
    wanted = {id for id, cause in registry.causes().items() if not cause.is_machines}
    assert {case.cause for case in SLOW} == wanted
    sizes = {path.name: path.stat().st_size for path in RECORDINGS.iterdir()}
    assert set(sizes) == {recorded(case).name for case in CASES}
    assert sum(sizes.values()) < 3_000_000
