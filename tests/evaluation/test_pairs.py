from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, average_precision_score, f1_score

from sbert_studio.evaluation.tasks.pairs import evaluate_pairs, evaluate_triplets, threshold_scores

rows = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 1)), min_size=1, max_size=30)


@given(rows)
def test_scores_equal_sklearn_over_every_threshold(data: list[tuple[int, int]]) -> None:
    scores, labels = (np.array(column) for column in zip(*data, strict=True))
    scores = scores / 6
    found = threshold_scores(scores, labels)
    cuts = [-1.0, *sorted(set(scores)), 2.0]
    assert found["accuracy"] == pytest.approx(max(accuracy_score(labels, scores >= cut) for cut in cuts))
    assert accuracy_score(labels, scores >= found["threshold"]) == pytest.approx(found["accuracy"])
    best_f1 = max(f1_score(labels, scores >= cut, zero_division=0) for cut in cuts)
    assert found["f1"] == pytest.approx(best_f1)
    assert f1_score(labels, scores >= found["f1_threshold"], zero_division=0) == pytest.approx(best_f1)
    if labels.any():
        assert found["average_precision"] == pytest.approx(average_precision_score(labels, scores))
    else:
        assert found["average_precision"] == 0


def test_pairs_that_are_alike_exactly_when_labelled_so_score_one() -> None:
    left = np.eye(4, dtype=np.float32)
    right = left.copy()
    right[2:] = np.roll(right[2:], 1, axis=0)
    report = evaluate_pairs(left, right, np.array([1, 1, 0, 0]))
    for name in ("cosine", "dot", "euclidean", "manhattan"):
        assert report.scores[name]["average_precision"] == report.scores[name]["accuracy"] == report.scores[name]["f1"] == 1
    assert 0 < report.scores["cosine"]["threshold"] < 1


def test_accuracy_equals_a_loop_over_rows_and_negatives() -> None:
    rng = np.random.default_rng(0)
    anchor, positive, first, second = rng.normal(size=(4, 50, 3)).astype(np.float32)
    found = evaluate_triplets(anchor, positive, [first, second])

    def cosine(u: np.ndarray, v: np.ndarray) -> float:
        return float(u @ v / np.linalg.norm(u) / np.linalg.norm(v))

    cosines = [cosine(a, p) > max(cosine(a, m), cosine(a, n)) for a, p, m, n in zip(anchor, positive, first, second, strict=True)]
    distances = [
        np.abs(a - p).sum() < min(np.abs(a - m).sum(), np.abs(a - n).sum())
        for a, p, m, n in zip(anchor, positive, first, second, strict=True)
    ]
    assert found.scores["accuracy"] == found.scores["cosine"]["accuracy"] == np.mean(cosines)
    assert found.scores["manhattan"]["accuracy"] == np.mean(distances)


def test_vectors_that_all_coincide_win_no_triplet() -> None:
    same = np.ones((5, 3), np.float32)
    assert evaluate_triplets(same, same, [same]).scores["accuracy"] == 0
