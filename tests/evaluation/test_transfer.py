from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline

from sbert_studio.errors import StudioError
from sbert_studio.evaluation.report import Report
from sbert_studio.evaluation.tasks.categories import bootstrap_v_measure, evaluate_clustering
from sbert_studio.evaluation.tasks.transfer import GRID, evaluate_senteval, evaluate_senteval_split, evaluate_transfer, pair_features


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
    assert evaluate_transfer(vectors, labels).scores["accuracy"] == 1
    assert evaluate_transfer(vectors, shuffled).scores["accuracy"] < 0.6


def test_clusters_and_transfer_do_not_depend_on_length_scale_or_origin(blobs: tuple[np.ndarray, list[str]]) -> None:
    vectors, labels = blobs
    lengths = np.random.default_rng(2).uniform(0.1, 50, (80, 1)).astype(np.float32)
    assert evaluate_clustering(vectors * lengths, labels).scores["v_measure"] == pytest.approx(1)
    vectors, labels = blobs
    noisy = vectors + np.random.default_rng(3).normal(scale=0.5, size=vectors.shape).astype(np.float32)
    plain, moved = evaluate_transfer(noisy, labels), evaluate_transfer(noisy * 100 + 300, labels)
    assert plain.scores["accuracy"] == pytest.approx(moved.scores["accuracy"], abs=0.03)
    assert plain.scores["accuracy"] < 1


@pytest.mark.parametrize("cross_validate", [evaluate_transfer, partial(evaluate_senteval, folds=5)])
def test_no_row_is_predicted_by_a_model_that_saw_it(cross_validate: Callable[[np.ndarray, list[str]], Report]) -> None:
    # twins of opposite classes: a model that saw a row would name it, one that did not sees only its twin
    twins = np.repeat(np.random.default_rng(4).normal(size=(30, 40)), 2, axis=0).astype(np.float32)
    assert cross_validate(twins, ["a", "b"] * 30).scores["accuracy"] < 0.5


def test_small_classes_make_fewer_folds_and_single_rows_are_refused(blobs: tuple[np.ndarray, list[str]]) -> None:
    vectors, labels = blobs
    assert evaluate_transfer(vectors[:12], labels[:12]).scores["folds"] == 3
    with pytest.raises(StudioError, match="single row"):
        evaluate_transfer(vectors[:4], labels[:4])
    vectors, _ = noisy(12)
    assert evaluate_senteval(vectors, ["a"] * 4 + ["b"] * 8, grid=(1.0,)).scores["folds"] == 8
    with pytest.raises(StudioError, match="single row"):
        evaluate_senteval(vectors, [str(row) for row in range(12)])


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
    for report, name in ((evaluate_transfer(noisy, labels), "accuracy"), (evaluate_clustering(noisy, labels), "v_measure")):
        low, high = report.scores["interval"]
        assert 0 < low < report.scores[name] < high < 1 and report.resampled is not None


POINT = 0.01


def noisy(rows: int, seed: int = 0, noise: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of three classes that overlap."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 3, rows)
    return (np.eye(3, 24)[classes] + rng.normal(scale=noise, size=(rows, 24))).astype(np.float32), classes.astype(str)


class Centred(TransformerMixin, BaseEstimator):
    """Vectors of mean length one around their mean, as strengths are meant for."""

    def fit(self, vectors: np.ndarray, _labels: Any = None) -> Centred:
        self.mean_ = vectors.mean(axis=0)
        self.length_ = np.linalg.norm(vectors - self.mean_, axis=1).mean()
        return self

    def transform(self, vectors: np.ndarray) -> np.ndarray:
        return (vectors - self.mean_) / self.length_


def learner(strength: float = 1.0) -> Any:
    return make_pipeline(Centred(), LogisticRegression(C=strength, max_iter=1000))


def searched() -> Any:
    """scikit-learn's own search for the strength, on the same folds: on few rows others may choose another."""
    folds = StratifiedKFold(3, shuffle=True, random_state=12)
    return GridSearchCV(learner(), {"logisticregression__C": list(GRID)}, cv=folds)


@pytest.mark.slow
def test_ten_folds_agree_with_scikit_learns_nested_search() -> None:

    vectors, labels = noisy(200, noise=0.7)
    report = evaluate_senteval(vectors, labels)
    theirs = cross_val_predict(searched(), vectors, labels, cv=StratifiedKFold(10, shuffle=True, random_state=12))
    assert report.scores["accuracy"] == pytest.approx(np.mean(theirs == labels), abs=POINT)
    assert report.scores["folds"] == len(report.scores["strengths"]) == 10 and set(report.scores["strengths"]) <= set(GRID)
    again = evaluate_senteval(vectors, labels)
    assert again.scores == report.scores


def test_each_strength_is_scikit_learns_own() -> None:
    (vectors, labels), (test, truth) = noisy(60, noise=0.8), noisy(400, seed=1, noise=0.8)
    ours, theirs = [], []
    for strength in (0.01, 0.1, 1.0, 100.0):
        ours.append(evaluate_senteval_split((vectors, labels), (test, truth), grid=(strength,)).scores["accuracy"])
        theirs.append(learner(strength).fit(vectors, labels).score(test, truth))
    assert ours == pytest.approx(theirs, abs=2 / 400) and len({round(400 * score) for score in theirs}) == 4


def test_the_strength_does_not_depend_on_the_rows_that_are_judged() -> None:
    vectors, labels = noisy(240)
    test, truth = noisy(80, seed=1)
    report = evaluate_senteval_split((vectors, labels), (test, truth))
    other = evaluate_senteval_split((vectors, labels), (test, np.random.default_rng(0).permutation(truth)))
    assert other.scores["strengths"] == report.scores["strengths"] and other.scores["accuracy"] != report.scores["accuracy"]
    assert report.scores["train_rows"] == 240 and report.rows == 80


def test_a_dev_set_decides_where_there_is_one() -> None:
    """A dev set that repeats the noise of the training set asks for the weakest penalty, one of a single class for the strongest."""
    vectors, labels = noisy(60, noise=2.0)
    wide = (1e-3, 1e3)
    by_itself = evaluate_senteval_split((vectors, labels), (vectors, labels), (vectors, labels), grid=wide)
    largest = max(set(labels.tolist()), key=labels.tolist().count)
    one_class = evaluate_senteval_split((vectors, labels), (vectors, labels), (vectors, [largest] * 60), grid=wide)
    assert by_itself.scores["strengths"] == [1e3] and one_class.scores["strengths"] == [1e-3]


def test_the_f1_is_that_of_the_positive_class_of_pairs_described_by_both_texts() -> None:
    vectors, labels = noisy(120)
    binary = np.where(labels == "0", "yes", "no")
    report = evaluate_senteval_split((vectors[:60], binary[:60]), (vectors[60:], binary[60:]), positive="yes")
    assert report.scores["f1"] < report.scores["accuracy"], "the rarer class is found less often"
    assert "f1" not in evaluate_senteval_split((vectors[:60], binary[:60]), (vectors[60:], binary[60:])).scores
    u, v = np.array([[3.0, 4.0]]), np.array([[0.0, 2.0]])
    np.testing.assert_allclose(pair_features(u, v), [[0.6, 0.2, 0.0, 0.8 * 2**0.5]], rtol=1e-6)
    np.testing.assert_allclose(pair_features(u, v), pair_features(v, u))
