"""Every cause is complete: texts, rule, example, change, curve, scenario, corpus script and documentation."""

from __future__ import annotations

import importlib
import json

import pytest
from paths import CORPUS, ROOT

from tfslowtop.catalogue.find import all_entries
from tfslowtop.diagnosis import names, registry
from tfslowtop.diagnosis.cause import Cause
from tfslowtop.diagnosis.document import document
from tfslowtop.diagnosis.facts import Facts

CAUSES = list(registry.causes().values())
#: Panels of the screen: the session's own, and gauges and shares that the agent or the session name so.
CURVES = {"latency", "retraces", "rss", "graph ops", "open sessions", "Python ops", "waiting for data"}
#: No scenario can make the machine slow; and these have none for a reason of their own.
NO_SCENARIO = {
    names.CALLBACK_HEAVY: "writing to a disk teaches nothing about TensorFlow or NumPy",
    names.OUTPUT_BOUND: "writing to a disk teaches nothing about TensorFlow or NumPy",
    names.VALIDATION_HEAVY: "how often to evaluate is a decision, not a mechanism",
    names.THREAD_LIMITS: "threads are limited before TensorFlow starts, and cannot be switched while it runs",
    names.SLOW_START: "it is over before the first iteration",
    names.SPARSE_TO_DENSE: "none has been written yet",
}
#: A program cannot change the machine; and for these, no change follows from the syntax of one line.
NO_CHANGE = {
    names.XLA_RECOMPILE: "which sizes to pad to depends on the data",
    names.PYTHON_OP: "the function has to be written again with other ops",
    names.GROWING_INPUT: "a running result replaces whatever is computed from the history",
    names.OWN_PYTHON: "another data structure or algorithm replaces it",
    names.VALIDATION_HEAVY: "how often to evaluate is for the author to say",
    names.DISPATCH_BOUND: "several steps have to be put into one function",
    names.WIDE_DTYPE: "where to convert depends on what else uses the data",
    names.SPARSE_TO_DENSE: "another optimizer changes how the model learns",
    names.SLOW_START: "another reader or a cache replaces it",
    names.NUMPY_LOOP: "the loop has to be written again for whole arrays",
    names.KERNEL_LEAK: "a generator has to be created elsewhere and passed to the line",
}


@pytest.fixture(scope="module")
def page() -> str:
    return (ROOT / "docs" / "causes.md").read_text()


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.id)
def test_a_cause_is_complete(cause: Cause, page: str):
    assert cause.headline and not cause.headline.endswith(".") and len(cause.headline) <= 72
    assert cause.mechanism.endswith(".") and cause.advice.endswith(".") and cause.after
    assert cause.curve in CURVES
    assert (cause.condition is not None) == cause.is_machines
    assert cause.before or cause.is_machines
    assert (cause.scenario is None) == (cause.is_machines or cause.id in NO_SCENARIO)
    assert (cause.change is None) == (cause.is_machines or cause.id in NO_CHANGE)
    assert f"### {cause.id}\n" in page and f"| {cause.headline} |" in page


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.id)
def test_no_blank_is_left_in_its_texts(cause: Cause):
    for text in (cause.headline, cause.mechanism, cause.advise(), cause.example()):
        assert "{name}" not in text and "{function}" not in text


def test_scenarios_that_are_named_exist():
    known = {entry.id for entry in all_entries()}
    assert {cause.scenario for cause in CAUSES if cause.scenario} <= known


def test_every_cause_of_a_program_has_a_script_in_the_corpus():
    """No script can make the machine slow: test_diagnosis_machine tests those with scripted readings."""
    expected = json.loads((CORPUS.parent / "expected.json").read_text())
    in_corpus = {case["cause"] for case in expected}
    assert [cause.id for cause in CAUSES if not cause.is_machines and cause.id not in in_corpus] == []


def test_every_id_has_exactly_one_cause():
    found = [cause.id for detector in registry.detectors().values() for cause in detector.causes]
    ids = {value for name, value in vars(names).items() if name.isupper() and isinstance(value, str)}
    assert len(found) == len(set(found)) and set(found) == ids


def test_explanations_are_causes_other_than_itself():
    for cause in CAUSES:
        assert set(cause.explained_by) <= set(registry.causes()) - {cause.id}, cause.id


def test_a_detector_without_facts_finds_nothing():
    facts = Facts(0.0, 0, None, False, (), (), ())
    assert [name for name, detector in registry.detectors().items() if detector.run(facts)] == []


def test_every_threshold_has_a_reason():
    """A number in capitals follows a comment, or another number that shares it."""
    for name in registry.detectors():
        module = importlib.import_module(f"tfslowtop.diagnosis.causes.{name}")
        lines = (ROOT / "tfslowtop" / "diagnosis" / "causes" / f"{name}.py").read_text().splitlines()
        numbers = [n for n, value in vars(module).items() if n.isupper() and isinstance(value, int | float)]
        for number in numbers:
            at = next((i for i, line in enumerate(lines) if line.startswith(f"{number} = ")), None)
            while at is not None and lines[at].lstrip("_")[:1].isupper():
                at -= 1
            assert at is None or lines[at].startswith("#:"), f"{name}: {number}"


def test_explain_has_all_parts_as_unwrapped_paragraphs():
    cause = registry.causes()[names.RETRACE_PYTHON_VALUE]
    assert registry.explain(cause.id).split("\n\n") == [
        f"{cause.id}: {cause.headline}",
        cause.mechanism,
        cause.advise(),
        cause.example(),
        "To see it happen, run: tfslowtop retrace_python_number\n",
    ]
    with pytest.raises(KeyError):
        registry.explain("no-such-cause")


def test_the_documentation_is_what_the_registry_says(page: str):
    assert page == document(), "Run `make docs`."
