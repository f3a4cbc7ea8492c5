from __future__ import annotations

import numpy as np

from sbert_studio.evaluation.tasks.triplets import evaluate_triplets


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
