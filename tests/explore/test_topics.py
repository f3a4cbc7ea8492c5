from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score, silhouette_score

from sbert_studio.explore import topics
from sbert_studio.explore.umap import build_neighbor_graph


def blobs(count: int, size: int = 40, spread: float = 0.15, dims: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(count)
    centers = rng.normal(size=(count, dims)) * 3
    truth = np.repeat(np.arange(count), size)
    return (centers[truth] + rng.normal(scale=spread, size=(count * size, dims))).astype(np.float32), truth


def test_the_silhouette_equals_scikit_learn() -> None:
    points, truth = blobs(6, 20, spread=2)
    distances = squareform(pdist(points))
    for ids in (truth, truth % 3, np.where(truth < 1, np.arange(len(truth)), 0)):
        assert topics.silhouette(distances, ids) == pytest.approx(silhouette_score(distances, ids, metric="precomputed"), abs=1e-9)
    assert topics.silhouette(distances, np.zeros(len(points), int)) == 0


def test_cuts_of_the_tree_equal_scikit_learn() -> None:
    points, _ = blobs(7, 15, spread=1.5)
    tree = topics.topic_tree(points)
    for count in (2, 5, 30):
        assert adjusted_rand_score(AgglomerativeClustering(count).fit_predict(points), tree.cut(count)) == 1


def test_a_sampled_tree_assigns_every_row(monkeypatch: pytest.MonkeyPatch) -> None:
    points, truth = blobs(9)
    monkeypatch.setattr(topics, "_TREE_ROWS", 120)
    tree = topics.topic_tree(points)
    assert len(tree.rows) == 120 and adjusted_rand_score(truth, tree.cut(9)) > 0.98


@pytest.mark.parametrize("count", [2, 3, 8, 20])
def test_the_number_of_topics_is_that_of_distinct_groups(count: int) -> None:
    points, truth = blobs(count)
    tree = topics.topic_tree(points)
    chosen = topics.choose_count(tree, points, points)
    assert abs(np.log2(chosen / count)) < 0.3 and adjusted_rand_score(truth, tree.cut(chosen)) > 0.85


def test_texts_without_structure_do_not_end_in_one_heap() -> None:
    points = np.random.default_rng(0).normal(size=(2000, 5)).astype(np.float32)
    tree = topics.topic_tree(points)
    ids = tree.cut(topics.choose_count(tree, points, points))
    assert np.bincount(ids).max() <= 0.3 * len(ids)


def test_an_isolated_text_is_an_outlier_and_a_dense_topic_has_none() -> None:
    points, truth = blobs(4, 60, spread=0.1, dims=16)
    stray = np.random.default_rng(9).normal(size=(3, 16)).astype(np.float32) * 3
    vectors, ids = np.concatenate([points, stray]), np.concatenate([truth, [0, 1, 2]])
    centroids = topics.topic_centroids(vectors, ids)
    found = topics.find_outliers(ids, topics.typicality(vectors, ids, centroids), build_neighbor_graph(vectors, "cosine", 10))
    assert found[-3:].all() and found[:-3].mean() < 0.05


def test_centroids_and_typicality_equal_their_definitions() -> None:
    vectors = np.random.default_rng(1).normal(size=(50, 6)).astype(np.float32)
    ids = np.array([0, 1, 2, -1, 1] * 10)
    directions = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    centroids = topics.topic_centroids(vectors, ids)
    for topic in range(3):
        mean = directions[ids == topic].mean(axis=0)
        np.testing.assert_allclose(centroids[topic], mean / np.linalg.norm(mean), atol=1e-6)
    cosines = directions @ centroids.T
    expected = [cosines[row, topic] if topic >= 0 else cosines[row].max() for row, topic in enumerate(ids)]
    np.testing.assert_allclose(topics.typicality(vectors, ids, centroids), expected, atol=1e-6)
    assert (topics.nearest_topics(vectors, centroids) == cosines.argmax(axis=1)).all()


def test_broad_topics_join_similar_topics() -> None:
    centers, truth = blobs(4, 8, spread=0.3, dims=20)
    directions = centers / np.linalg.norm(centers, axis=1, keepdims=True)
    found = topics.group_topics(directions)
    assert len(set(found.tolist())) == 7
    for group in set(found.tolist()):
        assert len(set(truth[found == group].tolist())) == 1
    assert (topics.group_topics(directions[:7]) == -1).all()
