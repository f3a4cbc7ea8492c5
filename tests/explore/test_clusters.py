from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.metrics import adjusted_rand_score, v_measure_score

from sbert_studio.errors import StudioError
from sbert_studio.explore import clusters
from sbert_studio.explore.clusters import (
    MAX_HUES,
    ClusterParams,
    Clusters,
    assign_hues,
    cluster,
    spherical_k_means,
)
from sbert_studio.explore.paraphrase_mining import paraphrase_mining
from sbert_studio.explore.projection import ProjectionParams, project
from sbert_studio.explore.search import SemanticIndex
from sbert_studio.explore.vector_store import VectorStore
from sbert_studio.registry import fields_of
from sbert_studio.workspace import Workspace, digest_texts

BASE = f"{'a' * 32}-{'b' * 16}"


Blobs = tuple[np.ndarray, np.ndarray, list[str]]


@pytest.fixture
def plain_space(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """HDBSCAN looks at the first five dimensions instead of UMAP's; the list gets the rows of each space made."""
    made: list[int] = []

    def space(vectors: np.ndarray, cache: Path, seed: int = -1, progress: object = None, near: object = None) -> np.ndarray:
        made.append(len(vectors))
        return np.ascontiguousarray(vectors[:, :5])

    monkeypatch.setattr(clusters, "project_for_density", space)
    return made


@pytest.mark.parametrize(
    "params",
    [
        ClusterParams(),
        ClusterParams("hdbscan", min_size=8),
        ClusterParams("kmeans", count=4),
        ClusterParams("auto", count=4),
        ClusterParams("agglomerative", count=4),
        ClusterParams("agglomerative", threshold=0.5),
    ],
    ids=str,
)
def test_every_method_finds_the_four_groups_and_names_them(
    params: ClusterParams, blobs: Blobs, workspace: Workspace, plain_space: list[int]
) -> None:
    vectors, truth, texts = blobs
    found = cluster(vectors, texts, params, BASE, workspace)
    kept = found.ids >= 0
    assert kept.mean() > 0.8 and found.noise == (~kept).sum()
    assert adjusted_rand_score(truth[kept], found.ids[kept]) > 0.97
    assert found.sizes == tuple(np.bincount(found.ids[kept])) == tuple(sorted(found.sizes, reverse=True))
    assert len(found.labels) == len(found.sizes) == 4 == len(set(found.labels))
    for number, label in enumerate(found.labels):
        topic = truth[found.ids == number][0]
        assert any(word in label for word in ("refund", "order")) == (topic == 0), label


def test_hdbscan_runs_in_the_space_of_umap(blobs: Blobs, workspace: Workspace) -> None:
    vectors, truth, texts = blobs
    assert v_measure_score(truth, cluster(vectors, texts, ClusterParams("hdbscan"), BASE, workspace).ids) > 0.9


def test_the_tree_equals_scipy_and_its_cuts_equal_sklearn() -> None:
    vectors = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
    tree = clusters.average_linkage(vectors)
    assert np.allclose(tree, linkage(pdist(vectors, "cosine"), "average"), atol=1e-5)
    for count, threshold in ((7, 0.5), (0, 0.3), (0, 0.05)):
        peer = AgglomerativeClustering(
            n_clusters=count or None, metric="cosine", linkage="average", distance_threshold=None if count else 1 - threshold
        ).fit_predict(vectors)
        assert adjusted_rand_score(peer, clusters.cut_tree(tree, count=count, threshold=threshold)) == 1


def test_moving_a_control_computes_only_what_it_must(blobs: Blobs, workspace: Workspace, plain_space: list[int], monkeypatch) -> None:
    vectors, _, texts = blobs
    trees: list[int] = []
    join = clusters.average_linkage
    monkeypatch.setattr(clusters, "average_linkage", lambda vectors, progress: trees.append(len(vectors)) or join(vectors, progress))
    for size in (5, 10, 15):
        cluster(vectors, texts, ClusterParams("hdbscan", min_size=size), BASE, workspace)
    for threshold in (0.2, 0.5, 0.8):
        cluster(vectors, texts, ClusterParams("agglomerative", threshold=threshold), BASE, workspace)
    assert plain_space == trees == [120]
    found = cluster(vectors, texts, ClusterParams("hdbscan", min_size=5), BASE, workspace)
    monkeypatch.setattr(clusters, "hdbscan", None)
    assert np.array_equal(cluster(vectors, texts, ClusterParams("hdbscan", min_size=5), BASE, workspace).ids, found.ids)


def test_no_control_of_the_map_encodes_again(blobs: Blobs, workspace: Workspace, plain_space: list[int], encoder) -> None:
    texts = blobs[2]
    store, digest = VectorStore(workspace), digest_texts(texts)
    base = f"{digest}-{encoder.fingerprint}"
    for neighbours, method, count in ((5, "kmeans", 3), (9, "kmeans", 5), (9, "hdbscan", 0), (9, "agglomerative", 2)):
        vectors = store.get(texts, digest, encoder)
        project(vectors, ProjectionParams(n_neighbors=neighbours), base, workspace)
        cluster(vectors, texts, ClusterParams(method, count=count), base, workspace)
        SemanticIndex(vectors).search(vectors[0])
        paraphrase_mining(vectors, 3)
    assert encoder.calls == 1


def test_small_groups_are_dropped_and_a_sample_agrees_with_the_whole(
    workspace: Workspace, blobs: Blobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = np.repeat(np.eye(3, 5, dtype=np.float32), [6, 3, 1], axis=0)
    texts = [f"text {row}" for row in range(10)]
    assert cluster(vectors, texts, ClusterParams("agglomerative"), BASE, workspace).sizes == (6, 3, 1)
    found = cluster(vectors, texts, ClusterParams("agglomerative", min_size=2), BASE, workspace)
    assert found.sizes == (6, 3) and found.noise == 1 and found.ids.tolist() == [0] * 6 + [1] * 3 + [-1]
    vectors, truth, _ = blobs
    monkeypatch.setattr(clusters, "_DENSITY_ROWS", 80)
    found = clusters.hdbscan(np.ascontiguousarray(vectors[:, :5]), 8)
    assert found.shape == (120,) and adjusted_rand_score(truth[found >= 0], found[found >= 0]) > 0.97


@pytest.mark.parametrize("method", ["auto", "hdbscan", "kmeans", "agglomerative"])
@pytest.mark.parametrize("rows", [0, 1, 2, 3, 7])
def test_few_or_equal_texts_are_grouped_without_complaint(method: str, rows: int, workspace: Workspace) -> None:
    for name, vectors in (("same", np.ones((rows, 4), np.float32)), ("apart", np.eye(rows, 8, dtype=np.float32))):
        found: Clusters = cluster(vectors, ["hello"] * rows, ClusterParams(method), f"{name}-{rows}", workspace)
        assert found.ids.shape == (rows,) and len(found.labels) == len(found.sizes)
        assert sum(found.sizes) + found.noise == rows


def test_too_much_is_refused_with_advice(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, texts = np.eye(30, dtype=np.float32), ["word"] * 30
    with pytest.raises(StudioError, match="31 clusters of 30"):
        cluster(vectors, texts, ClusterParams("kmeans", count=31), BASE, workspace)
    monkeypatch.setattr(clusters, "_LINKAGE_ROWS", 29)
    with pytest.raises(StudioError, match="hdbscan or kmeans"):
        cluster(vectors, texts, ClusterParams("agglomerative"), BASE, workspace)
    for bad in ({"method": "magic"}, {"count": -1}, {"threshold": 2.0}, {"min_size": -3}, {"seed": -2}):
        with pytest.raises(StudioError):
            ClusterParams(**bad)  # type: ignore[arg-type]
    assert all(field.help for field in fields_of(ClusterParams))


def mean_cosine(rows: np.ndarray, groups: np.ndarray) -> float:
    return sum(float(np.linalg.norm(rows[groups == group].sum(axis=0))) for group in set(groups.tolist())) / len(rows)


def test_groups_are_as_tight_as_those_of_sklearn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "_CELLS", 1000)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(12, 16))[rng.integers(0, 12, 600)] + 0.6 * rng.normal(size=(600, 16))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    peer = KMeans(12, n_init=10, random_state=0).fit_predict(rows)
    assert mean_cosine(rows, spherical_k_means(rows.astype(np.float32), 12)) > 0.985 * mean_cosine(rows, peer)


def test_k_means_is_spherical_and_repeats_itself() -> None:
    rows = np.random.default_rng(1).normal(size=(200, 6)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    groups = spherical_k_means(rows, 7, seed=4)
    centres = np.stack([rows[groups == group].mean(axis=0) for group in range(7)])
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    assert np.array_equal((rows @ centres.T).argmax(axis=1), groups)
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


@pytest.mark.parametrize("dims", [2, 3])
def test_categories_that_lie_together_share_a_hue_and_differ_in_lightness(dims: int) -> None:
    rng = np.random.default_rng(0)
    # Eight islands with ten categories each, five points a category.
    islands = rng.normal(size=(8, dims)) * 100
    groups = np.repeat(np.arange(80), 5)
    points = (islands[groups // 10] + rng.normal(size=(400, dims))).astype(np.float32)
    hues, shades = assign_hues(points, groups, 80)
    assert len(set(hues.tolist())) <= MAX_HUES
    for hue in set(hues.tolist()):
        members = np.flatnonzero(hues == hue)
        assert len({int(one) // 10 for one in members}) == 1, "no hue on two islands"
        assert len(set(shades[members].tolist())) == len(members)
    assert shades.min() >= 0 and shades.max() <= 1


def test_few_categories_have_a_hue_each_and_a_group_of_none_is_left_out() -> None:
    points = np.array([[0, 0], [0, 1], [5, 5], [9, 0]], np.float32)
    hues, shades = assign_hues(points, np.array([0, 0, 1, -1]), 2)
    assert sorted(hues.tolist()) == [0, 1] and shades.tolist() == [0.5, 0.5]
