from __future__ import annotations

import numpy as np
import pytest

from sbert_studio.errors import StudioError
from sbert_studio.evaluation.tasks.clustering import bootstrap_v_measure, evaluate_clustering
from sbert_studio.evaluation.tasks.transfer import cross_validated


@pytest.fixture
def blobs() -> tuple[np.ndarray, list[str]]:
    rng = np.random.default_rng(0)
    centres = np.eye(4, 6)
    labels = [f"class {row % 4}" for row in range(80)]
    vectors = np.stack([centres[row % 4] for row in range(80)]) + rng.normal(scale=0.05, size=(80, 6))
    return vectors.astype(np.float32), labels


def test_separate_classes_are_found_and_shuffled_ones_are_not(blobs: tuple[np.ndarray, list[str]]) -> None:
    vectors, labels = blobs
    shuffled = list(np.random.default_rng(1).permutation(labels))
    assert evaluate_clustering(vectors, labels).scores["v_measure"] == pytest.approx(1)
    assert evaluate_clustering(vectors, shuffled).scores["v_measure"] < 0.4
    assert cross_validated(vectors, labels).scores["accuracy"] == 1
    assert cross_validated(vectors, shuffled).scores["accuracy"] < 0.6


def test_clusters_do_not_depend_on_the_length_of_the_vectors(blobs: tuple[np.ndarray, list[str]]) -> None:
    vectors, labels = blobs
    lengths = np.random.default_rng(2).uniform(0.1, 50, (80, 1)).astype(np.float32)
    assert evaluate_clustering(vectors * lengths, labels).scores["v_measure"] == pytest.approx(1)


def test_transfer_does_not_depend_on_the_scale_or_the_origin(blobs: tuple[np.ndarray, list[str]]) -> None:
    vectors, labels = blobs
    noisy = vectors + np.random.default_rng(3).normal(scale=0.5, size=vectors.shape).astype(np.float32)
    plain, moved = cross_validated(noisy, labels), cross_validated(noisy * 100 + 300, labels)
    assert plain.scores["accuracy"] == pytest.approx(moved.scores["accuracy"], abs=0.03)
    assert plain.scores["accuracy"] < 1


def test_no_row_is_predicted_by_a_model_that_saw_it() -> None:
    # twins of opposite classes: a model that saw a row would name it, one that did not sees only its twin
    rng = np.random.default_rng(4)
    vectors = np.repeat(rng.normal(size=(30, 40)), 2, axis=0).astype(np.float32)
    assert cross_validated(vectors, ["a", "b"] * 30).scores["accuracy"] < 0.5


def test_small_classes_make_fewer_folds_and_single_rows_are_refused(blobs: tuple[np.ndarray, list[str]]) -> None:
    vectors, labels = blobs
    assert cross_validated(vectors[:12], labels[:12]).scores["folds"] == 3
    with pytest.raises(StudioError, match="single row"):
        cross_validated(vectors[:4], labels[:4])


def test_resampled_v_measures_are_those_of_scikit_learn() -> None:
    from sklearn.metrics import v_measure_score

    from sbert_studio.evaluation.bootstrap import resample_weights

    random = np.random.default_rng(6)
    truth, found = random.integers(0, 4, 50), random.integers(0, 5, 50)
    drawn = next(resample_weights(50))[:20].astype(int)
    wanted = [v_measure_score(np.repeat(truth, row), np.repeat(found, row)) for row in drawn]
    np.testing.assert_allclose(bootstrap_v_measure(truth, found)[:20], wanted, atol=1e-9)


def test_transfer_and_clustering_tell_how_far_chance_may_have_moved_them(blobs: tuple[np.ndarray, list[str]]) -> None:
    vectors, labels = blobs
    noisy = vectors + np.random.default_rng(3).normal(scale=0.5, size=vectors.shape).astype(np.float32)
    for report, name in ((cross_validated(noisy, labels), "accuracy"), (evaluate_clustering(noisy, labels), "v_measure")):
        low, high = report.scores["interval"]
        assert 0 < low < report.scores[name] < high < 1 and report.resampled is not None
