from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sbert_studio.errors import StudioError
from sbert_studio.evaluation import bootstrap
from sbert_studio.evaluation.answers import average_ranks
from sbert_studio.evaluation.bootstrap import resample_clusters
from sbert_studio.evaluation.encoding import similarities
from sbert_studio.evaluation.tasks import main_score, sts
from sbert_studio.evaluation.tasks.sts import evaluate_by_group

numbers = st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=2, max_size=40)


@given(numbers)
def test_ranks_and_correlations_equal_scipy_with_ties(rows: list[tuple[int, int]]) -> None:
    x, y = (np.array(column, float) for column in zip(*rows, strict=True))
    assert np.array_equal(average_ranks(x), stats.rankdata(x))
    if len(set(x)) > 1 and len(set(y)) > 1:
        assert sts.spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
        assert sts.pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)
    else:
        assert sts.spearman(x, y) == sts.pearson(x, y) == 0


def test_spearman_of_a_resample_equals_scipy_on_the_drawn_rows() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 6, (2, 25)).astype(float)
    counts = np.stack([np.bincount(rng.integers(0, 25, 25), minlength=25) for _ in range(8)]).astype(float)
    found = sts._weighted_pearson(sts._resampled_ranks(x, counts), sts._resampled_ranks(y, counts), counts)
    for row, rho in zip(counts.astype(int), found, strict=True):
        assert rho == pytest.approx(stats.spearmanr(np.repeat(x, row), np.repeat(y, row)).statistic)


def test_the_interval_matches_a_plain_bootstrap_and_repeats_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=200)
    y = x + rng.normal(size=200)
    plain = [stats.spearmanr(x[drawn], y[drawn]).statistic for drawn in rng.integers(0, 200, (600, 200))]
    low, high = bootstrap.percentile_interval(sts.bootstrap_spearman(x, y))
    assert (low, high) == pytest.approx(np.quantile(plain, (0.025, 0.975)), abs=0.02)
    assert low < sts.spearman(x, y) < high
    monkeypatch.setattr(bootstrap, "_BLOCK", 2000)  # the block's size must not change what is drawn
    assert bootstrap.percentile_interval(sts.bootstrap_spearman(x, y)) == pytest.approx([low, high], abs=1e-12)


def test_a_distance_correlates_with_the_gold_scores_the_same_way_as_the_cosine() -> None:
    rng = np.random.default_rng(3)
    left = rng.normal(size=(60, 8)).astype(np.float32)
    noise = rng.uniform(0, 3, 60)
    right = left + noise[:, None] * rng.normal(size=(60, 8)).astype(np.float32)
    report = sts.evaluate_sts(left, right, -noise)
    for name in ("cosine", "euclidean", "manhattan"):
        assert report.scores[name]["spearman"] > 0.5, name
    assert main_score(report) == ("cosine_spearman", report.scores["cosine"]["spearman"])
    assert report.to_json()["rows"] == 60 and len(report.to_json()["interval"]) == 2


def test_each_topic_counts_the_same_and_all_pairs_are_judged_as_well() -> None:
    from scipy.stats import pearsonr, spearmanr

    rng = np.random.default_rng(0)
    topics = ["guns"] * 50 + ["tax"] * 10 + ["war"] * 20
    gold = rng.uniform(0, 5, 80)
    left, right = rng.normal(size=(80, 6)), rng.normal(size=(80, 6))
    cosines = np.array([u @ v / np.linalg.norm(u) / np.linalg.norm(v) for u, v in zip(left, right, strict=True)])
    scores = evaluate_by_group(similarities(left, right)["cosine"], gold, topics).scores
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
    report = evaluate_by_group(scores, gold, ["a"] * 10 + ["b"] * 10).scores
    assert report["mean"]["spearman"] == pytest.approx(1) and report["all"]["spearman"] < 0.6


def test_a_topic_without_a_difference_has_no_part_in_the_mean() -> None:
    gold = np.array([1.0, 2.0, 3.0, 2.0, 2.0])
    report = evaluate_by_group(gold, gold, ["a", "a", "a", "b", "b"]).scores
    assert report["silent"] == ["b"] and report["mean"]["pearson"] == pytest.approx(1)
    with pytest.raises(StudioError, match="the gold scores are constant"):
        evaluate_by_group(gold, np.ones(5), ["a"] * 5)


def test_a_topic_of_four_pairs_beside_a_large_one_does_not_keep_the_mean_from_an_interval() -> None:
    rng = np.random.default_rng(3)
    gold = rng.normal(size=44)
    topics = ["large"] * 40 + ["small"] * 4
    with resample_clusters([f"text {row}" for row in range(44)]):
        low, high = evaluate_by_group(gold + rng.normal(size=44), gold, topics).scores["interval"]
    assert low < high
    assert evaluate_by_group(gold[:4], gold[:4], ["a"] * 4).scores["interval"] == [], "four rows in all tell nothing"


def _spread(gold: np.ndarray, scores: np.ndarray, copies: int = 1) -> float:
    """The standard deviation of the resampled mean over four topics of a hundred pairs, each pair ``copies`` times."""
    topics = np.repeat([f"topic {number}" for number in range(4)], 100 * copies).tolist()
    texts = [f"text {row // copies}" for row in range(400 * copies)]
    with resample_clusters(texts):
        report = evaluate_by_group(np.repeat(scores, copies), np.repeat(gold, copies), topics)
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
