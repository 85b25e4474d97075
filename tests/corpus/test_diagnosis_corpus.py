"""Scripts as users write them, run for real: the first finding names cause and line, healthy ones have none.

A part of the corpus, each cause at least once; `python tests/corpus/corpus_run.py` runs all of it.
"""

from __future__ import annotations

import corpus_run
import pytest

pytestmark = pytest.mark.tensorflow

CHOSEN = (
    "linear_schedule", "sentence_curriculum", "particle_filter", "kalman", "calibrate", "ocr_service",
    "ensemble_scores",
    "meta_step", "window_sum", "cartpole_scores", "blur_features", "fit_generator", "augment_images",
    "loss_history", "checkpoint_often", "tidy_memory", "rowwise_norm", "counter_state", "unrolled_ode",
    "mixed_readers", "bag_of_towers", "policy_update", "jit_lengths", "pendulum_rollout", "frame_upload",
    "sensor_fusion", "reward_plot", "rollouts", "latent_walk", "embed_catalogue",
    "ising_grid", "shelf_camera", "dust_tracks",
    "leaf_classes", "plant_sensor", "surface_fit", "noise_filter", "bridge_loads", "word_pairs",
    "custom_loop", "v1_train", "buckets", "inference", "two_networks", "small_eager", "heavy_matmul",
    "mnist_fit", "answer_queue", "replay_buffer",
)  # fmt: skip


@pytest.fixture(scope="module")
def results() -> dict[str, corpus_run.Result]:
    """Machines are shared: what was wrong is run once more, by itself, and has to be right then."""
    done = corpus_run.run(corpus_run.cases(*CHOSEN))
    print("\n" + corpus_run.table(done))
    again = [name(r.case) for r in done if not r.right]
    done += [r for wrong in again for r in corpus_run.run(corpus_run.cases(wrong))]
    return {name(r.case): r for r in done}


def name(case: corpus_run.Case) -> str:
    return case.script.removesuffix(".py")


def test_every_cause_is_run_for_real():
    chosen = corpus_run.cases(*CHOSEN)
    assert {c.cause for c in chosen} == {c.cause for c in corpus_run.cases()}
    assert len([c for c in chosen if c.cause]) >= 30 and len([c for c in chosen if not c.cause]) >= 10


@pytest.mark.parametrize("name", CHOSEN)
def test_the_first_finding(results, name):
    result = results[name]
    assert result.error == ""
    assert result.right, f"{result.causes} at `{result.line}`: {result.text}"


def test_the_corpus_is_as_large_as_it_should_be():
    every = corpus_run.cases()
    slow = [c for c in every if c.cause]
    assert len(slow) >= 30 and len(every) - len(slow) >= 10
    for case in every:
        text = (corpus_run.CORPUS / case.script).read_text()
        assert all(any(piece in line for line in text.splitlines()) for piece in case.lines), case.script
