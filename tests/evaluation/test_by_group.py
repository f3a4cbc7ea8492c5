from __future__ import annotations

import numpy as np
import pytest

from sbert_studio.errors import StudioError
from sbert_studio.evaluation.bootstrap import resample_clusters
from sbert_studio.evaluation.tasks.topics import correlations_by_group, evaluate_by_group


def test_each_topic_counts_the_same_and_all_pairs_are_judged_as_well() -> None:
    from scipy.stats import pearsonr, spearmanr

    rng = np.random.default_rng(0)
    topics = ["guns"] * 50 + ["tax"] * 10 + ["war"] * 20
    gold = rng.uniform(0, 5, 80)
    left, right = rng.normal(size=(80, 6)), rng.normal(size=(80, 6))
    cosines = np.array([u @ v / np.linalg.norm(u) / np.linalg.norm(v) for u, v in zip(left, right, strict=True)])
    scores = evaluate_by_group(left, right, gold, topics).scores
    found = []
    for topic in ("guns", "tax", "war"):
        rows = [row for row, name in enumerate(topics) if name == topic]
        found.append((pearsonr(cosines[rows], gold[rows])[0], spearmanr(cosines[rows], gold[rows])[0]))
        r, rho = found[-1]
        assert scores["groups"][topic] == {"rows": len(rows), "pearson": pytest.approx(r), "spearman": pytest.approx(rho)}
    assert scores["mean"] == {"pearson": pytest.approx(np.mean(found, 0)[0]), "spearman": pytest.approx(np.mean(found, 0)[1])}
    assert scores["all"]["spearman"] == pytest.approx(spearmanr(cosines, gold)[0])
    low, high = scores["interval"]
    assert low < scores["mean"]["spearman"] < high


def test_topics_on_scales_of_their_own_are_no_worse_for_it() -> None:
    gold = np.tile(np.arange(10.0), 2)
    scores = gold + np.repeat([0, 100], 10) * np.array([1] * 20)
    scores[10:] = gold[10:] - 100
    report = correlations_by_group(scores, gold, ["a"] * 10 + ["b"] * 10).scores
    assert report["mean"]["spearman"] == pytest.approx(1) and report["all"]["spearman"] < 0.6


def test_a_topic_without_a_difference_has_no_part_in_the_mean() -> None:
    gold = np.array([1.0, 2.0, 3.0, 2.0, 2.0])
    report = correlations_by_group(gold, gold, ["a", "a", "a", "b", "b"]).scores
    assert report["silent"] == ["b"] and report["mean"]["pearson"] == pytest.approx(1)
    with pytest.raises(StudioError, match="all gold scores are the same"):
        correlations_by_group(gold, np.ones(5), ["a"] * 5)


def test_a_topic_of_four_pairs_beside_a_large_one_does_not_keep_the_mean_from_an_interval() -> None:
    rng = np.random.default_rng(3)
    gold = rng.normal(size=44)
    topics = ["large"] * 40 + ["small"] * 4
    with resample_clusters([f"text {row}" for row in range(44)]):
        low, high = correlations_by_group(gold + rng.normal(size=44), gold, topics).scores["interval"]
    assert low < high
    assert correlations_by_group(gold[:4], gold[:4], ["a"] * 4).scores["interval"] == [], "four rows in all tell nothing"


def _spread(gold: np.ndarray, scores: np.ndarray, copies: int = 1) -> float:
    """The standard deviation of the resampled mean over four topics of a hundred pairs, each pair ``copies`` times."""
    topics = np.repeat([f"topic {number}" for number in range(4)], 100 * copies).tolist()
    texts = [f"text {row // copies}" for row in range(400 * copies)]
    with resample_clusters(texts):
        report = correlations_by_group(np.repeat(scores, copies), np.repeat(gold, copies), topics)
    assert report.resampled is not None
    return float(report.resampled.std())


def test_the_topics_are_drawn_apart_in_whatever_order_their_rows_stand() -> None:
    rng = np.random.default_rng(0)
    gold = rng.normal(size=400)
    scores = 0.6 * gold + 0.8 * rng.normal(size=400)
    order = np.concatenate([place + np.argsort(gold[place : place + 100]) for place in range(0, 400, 100)])
    assert _spread(gold[order], scores[order]) == pytest.approx(_spread(gold, scores), rel=0.1)


def test_copies_of_a_pair_within_a_topic_tell_no_more_than_the_pair() -> None:
    rng = np.random.default_rng(0)
    gold = rng.normal(size=400)
    scores = 0.6 * gold + 0.8 * rng.normal(size=400)
    assert _spread(gold, scores, copies=5) == pytest.approx(_spread(gold, scores), rel=0.15)
