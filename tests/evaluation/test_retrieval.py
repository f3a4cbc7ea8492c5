from __future__ import annotations

import numpy as np
import pytest

from sbert_studio.evaluation.tasks import retrieval


def test_vectors_that_all_coincide_find_nothing_however_their_products_are_rounded() -> None:
    one = np.random.default_rng(0).normal(size=(1, 384)).astype(np.float32)
    for rows in (101, 103, 107):
        texts = [str(row) for row in range(rows)]
        same = np.repeat(one, rows, axis=0)
        scores = retrieval.evaluate_retrieval(same, same, texts, [f"p{text}" for text in texts]).scores
        assert scores["mrr_at_10"] == scores["ndcg_at_10"] == 0


def test_scores_closer_than_products_are_rounded_tie() -> None:
    anchors = np.array([[1, 0], [1, 0]], np.float32)
    positives = np.array([[1, 0], [1, 0.001]], np.float32)
    scores = retrieval.evaluate_retrieval(anchors, positives, ["a", "b"], ["p", "q"]).scores
    assert scores["mrr_at_10"] == 0.5
    assert scores["ndcg_at_10"] == pytest.approx(1 / np.log2(3))


def naive(vectors: dict[str, list[float]], rows: list[tuple[str, str]], classes: list[int] | None = None) -> float:
    """Recall at 1: for each distinct anchor, is the nearest candidate that is not itself one of all that belong to it?"""
    unit = {text: np.array(vector) / np.linalg.norm(vector) for text, vector in vectors.items()}
    pairs = {*rows, *((b, a) for a, b in rows)}
    if classes is not None:
        pairs |= {
            (a, d) for (a, _), one in zip(rows, classes, strict=True) for (_, d), two in zip(rows, classes, strict=True) if one == two
        }
    candidates = list(dict.fromkeys(b for _, b in rows))
    found = []
    for anchor in dict.fromkeys(a for a, _ in rows):
        nearest = max((c for c in candidates if c != anchor), key=lambda c: float(unit[anchor] @ unit[c]))
        found.append((anchor, nearest) in pairs)
    return float(np.mean(found))


@pytest.mark.parametrize("classes", [None, [0, 0, 0, 1, 1, 2]])
def test_all_positives_of_an_anchor_are_right_also_those_it_has_in_other_rows(classes: list[int] | None) -> None:
    rows = [("x", "p"), ("x", "q"), ("q", "x"), ("y", "q"), ("p", "z"), ("z", "w")]
    right = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        vectors = {text: random.normal(size=3).tolist() for text in "xypqzw"}
        arrays = [np.array([vectors[pair[side]] for pair in rows], np.float32) for side in (0, 1)]
        ids = None if classes is None else np.array(classes)
        found = retrieval.evaluate_retrieval(*arrays, [a for a, _ in rows], [b for _, b in rows], ids).scores["recall_at_1"]
        assert found == pytest.approx(naive(vectors, rows, classes))
        right += found
    assert 5 < right < 35, "neither all nor nothing is found"


def test_the_anchors_own_text_is_right_for_whom_it_is_the_positive_of() -> None:
    """p stands in a row as the positive of a: where p asks, a is right, though the row that p begins names another."""
    vectors = {"a": [1, 0], "p": [1, 0.1], "q": [0, 1], "b": [0.1, 1]}
    rows = [("a", "p"), ("p", "q"), ("b", "a")]
    arrays = [np.array([vectors[pair[side]] for pair in rows], np.float32) for side in (0, 1)]
    ranks = retrieval.evaluate_retrieval(*arrays, [a for a, _ in rows], [b for _, b in rows]).scores
    assert ranks["recall_at_1"] == pytest.approx(2 / 3), "a finds p and p finds a; b finds q first"


def test_texts_that_differ_in_case_or_blanks_only_are_one() -> None:
    vectors = np.eye(3)[[0, 1, 0]]
    found = retrieval.evaluate_retrieval(vectors, vectors, ["a", "b", "c"], ["Use the app.", "Look there.", "use  the app."])
    assert (found.scores["mrr_at_10"], found.scores["recall_at_1"]) == (1.0, 1.0)


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_those_of_a_loop_over_rankings(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "_BLOCK", 100)
    rng = np.random.default_rng(seed)
    rows = [(f"a{rng.integers(12)}", f"p{rng.integers(30)}") for _ in range(60)]
    vectors = {text: rng.normal(size=3) for pair in rows for text in pair}
    arrays = [np.array([vectors[pair[side]] for pair in rows], np.float32) for side in (0, 1)]
    scores = retrieval.evaluate_retrieval(*arrays, [a for a, _ in rows], [b for _, b in rows]).scores
    candidates = {b for _, b in rows}
    cosine = {
        (a, b): vectors[a] @ vectors[b] / np.linalg.norm(vectors[a]) / np.linalg.norm(vectors[b]) for a, _ in rows for b in candidates
    }
    firsts, gains = [], []
    for anchor in {a for a, _ in rows}:
        ranked = sorted(candidates, key=lambda one, anchor=anchor: -cosine[anchor, one])  # type: ignore[misc]
        right = [rank for rank, one in enumerate(ranked, start=1) if (anchor, one) in rows]
        firsts.append(right[0])
        ideal = sum(1 / np.log2(rank + 1) for rank in range(1, min(10, len(right)) + 1))
        gains.append(sum(1 / np.log2(rank + 1) for rank in right if rank <= 10) / ideal)
    assert scores["ndcg_at_10"] == pytest.approx(np.mean(gains))
    assert scores["mrr_at_10"] == pytest.approx(np.mean([1 / rank if rank <= 10 else 0 for rank in firsts]))
    for k in (1, 3, 5, 10):
        assert scores[f"accuracy_at_{k}"] == pytest.approx(np.mean([rank <= k for rank in firsts]))
    assert all(scores[f"recall_at_{k}"] == scores[f"accuracy_at_{k}"] for k in (1, 10))
