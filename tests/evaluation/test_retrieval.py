from __future__ import annotations

import numpy as np
import pytest

from sbert_studio.evaluation import retrieval


def test_ranks_equal_a_loop_over_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "_BLOCK", 100)
    rng = np.random.default_rng(0)
    anchors = rng.normal(size=(40, 4)).astype(np.float32)
    positives = (anchors + rng.normal(size=(40, 4))).astype(np.float32)
    names, partners = [f"a{i}" for i in range(40)], [f"p{i}" for i in range(40)]
    unit = [vectors / np.linalg.norm(vectors, axis=1, keepdims=True) for vectors in (anchors, positives)]
    ranks = [1 + sum(row[j] > row[i] for j in range(40) if j != i) for i, row in enumerate(unit[0] @ unit[1].T)]
    scores = retrieval.evaluate_retrieval(anchors, positives, names, partners).scores
    assert scores["mrr_at_10"] == pytest.approx(np.mean([1 / rank if rank <= 10 else 0 for rank in ranks]))
    assert scores["recall_at_1"] == np.mean([rank == 1 for rank in ranks])
    assert scores["recall_at_10"] == np.mean([rank <= 10 for rank in ranks])


def test_any_positive_of_an_equal_anchor_counts() -> None:
    anchors = np.array([[1, 0], [1, 0], [0, 1]], np.float32)
    positives = np.array([[1, 0.1], [0.2, 1], [0.1, 1]], np.float32)
    scores = retrieval.evaluate_retrieval(anchors, positives, ["x", "x", "y"], ["p", "q", "r"]).scores
    assert scores["recall_at_1"] == 1


def test_a_candidate_that_repeats_the_query_is_passed_over() -> None:
    vectors = {"x": [1, 0], "y": [0.9, 0.1], "z": [0, 1], "w": [0.1, 0.9]}
    anchors, positives = ["x", "z", "y"], ["y", "w", "x"]
    arrays = [np.array([vectors[text] for text in texts], np.float32) for texts in (anchors, positives)]
    assert retrieval.evaluate_retrieval(*arrays, anchors, positives).scores["recall_at_1"] == 1


def test_vectors_that_all_coincide_find_nothing() -> None:
    same = np.ones((30, 3), np.float32)
    texts = [str(i) for i in range(30)]
    scores = retrieval.evaluate_retrieval(same, same, texts, [f"p{text}" for text in texts]).scores
    assert scores["mrr_at_10"] == 0
