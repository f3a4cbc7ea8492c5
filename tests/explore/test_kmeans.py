from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from sbert_studio.explore import clusters
from sbert_studio.explore.clusters import spherical_k_means


def mean_cosine(rows: np.ndarray, groups: np.ndarray) -> float:
    return sum(float(np.linalg.norm(rows[groups == group].sum(axis=0))) for group in set(groups.tolist())) / len(rows)


def test_groups_are_as_tight_as_those_of_sklearn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "_CELLS", 1000)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(12, 16))[rng.integers(0, 12, 600)] + 0.6 * rng.normal(size=(600, 16))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    peer = KMeans(12, n_init=10, random_state=0).fit_predict(rows)
    assert mean_cosine(rows, spherical_k_means(rows.astype(np.float32), 12)) > 0.985 * mean_cosine(rows, peer)


def test_no_row_is_nearer_to_another_centre() -> None:
    rows = np.random.default_rng(1).normal(size=(200, 6)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    groups = spherical_k_means(rows, 7, seed=4)
    centres = np.stack([rows[groups == group].mean(axis=0) for group in range(7)])
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    assert np.array_equal((rows @ centres.T).argmax(axis=1), groups)


def test_length_does_not_matter_and_a_seed_repeats_the_groups() -> None:
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(150, 5)).astype(np.float32)
    lengths = rng.uniform(0.1, 20, (150, 1)).astype(np.float32)
    assert adjusted_rand_score(spherical_k_means(rows, 5, seed=1), spherical_k_means(rows * lengths, 5, seed=1)) > 0.95
    assert np.array_equal(spherical_k_means(rows, 5), spherical_k_means(rows, 5))


@pytest.mark.parametrize("count", [1, 3, 30])
def test_copies_zeros_and_as_many_groups_as_rows_are_fine(count: int) -> None:
    assert len(set(spherical_k_means(np.ones((30, 4), np.float32), count).tolist())) == 1
    assert set(spherical_k_means(np.zeros((30, 4), np.float32), count).tolist()) <= set(range(count))
    assert len(set(spherical_k_means(np.eye(30, dtype=np.float32), count).tolist())) == count
