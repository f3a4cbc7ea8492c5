from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sbert_studio.evaluation import bootstrap
from sbert_studio.evaluation.answers import average_ranks
from sbert_studio.evaluation.tasks import main_score, sts

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
