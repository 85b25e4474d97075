"""Findings ordered by cost, with symptoms under the findings that explain them."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from tfslowtop.diagnosis.engine import arrange
from tfslowtop.diagnosis.finding import Basis, Finding, Fix
from tfslowtop.diagnosis.registry import causes

#: Causes that others explain.
EXPLAINED = [id for id, cause in causes().items() if cause.explained_by]


def finding(cause: str, cost: float = 1.0, basis: Basis = "measured", line: int = 1) -> Finding:
    return Finding(
        cause, "train.py", line, "", 0, cost, cost / 10, "high", f"{cause} {line}", Fix("", ""), basis=basis
    )


FINDINGS = st.lists(
    st.builds(
        finding,
        st.sampled_from(EXPLAINED * 3 + list(causes())),
        st.floats(0, 10),
        st.sampled_from(["measured", "at most", "not measured"]),
        st.integers(1, 3),
    ),
    max_size=8,
)


def sentences(roots: tuple[Finding, ...]) -> list[str]:
    return [f.sentence for root in roots for f in (root, *root.symptoms)]


def test_causes_that_explain_each_other_leave_the_most_expensive_one():
    """Each of the four is explained by another one of them."""
    ring = {"dataset-recreated": 2.0, "predict-loop": 3.0, "callback-heavy": 4.0, "growing-input": 2.5}
    (root,) = arrange([finding(cause, cost) for cause, cost in ring.items()], 10.0)
    assert root.cause == "callback-heavy"
    assert {f.cause for f in root.symptoms} == set(ring) - {root.cause}


def test_a_chain_of_symptoms_is_listed_under_its_first_cause():
    found = [finding("eager-step", 5.0), finding("variable-recreated", 4.0), finding("model-recreated", 3.0)]
    (root,) = arrange(found, 10.0)
    assert (root.cause, [f.cause for f in root.symptoms]) == (
        "model-recreated",
        ["eager-step", "variable-recreated"],
    )


@given(FINDINGS)
def test_every_finding_appears_exactly_once(found):
    assert sorted(sentences(arrange(found, 10.0))) == sorted(f.sentence for f in found)


def test_any_four_causes_leave_a_finding():
    """The smallest circle of explanations so far had four causes."""
    for four in itertools.combinations(EXPLAINED, 4):
        assert arrange([finding(cause) for cause in four], 10.0), four


def test_what_the_collector_takes_is_not_paid_to_another_cause():
    found = [finding("growing-input", 8.0), finding("gc-pause", 6.0)]
    first, second = arrange(found, 10.0)
    assert (first.cause, first.cost_seconds) == ("gc-pause", 6.0)
    assert (second.cause, second.cost_seconds) == ("growing-input", 4.0)
