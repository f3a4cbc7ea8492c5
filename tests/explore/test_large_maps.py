"""Maps of very large corpora: a sample is laid out, all other texts are placed by it, and the result says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tiny_studio import write_model

from sbert_studio.data.corpus import Corpus
from sbert_studio.explore import large_maps
from sbert_studio.explore.clusters import Clusters
from sbert_studio.explore.projection import ProjectionParams
from sbert_studio.services import Studio
from sbert_studio.settings import Settings
from sbert_studio.workspace import digest_texts

_GROUPS = 6


@pytest.fixture
def vectors() -> np.ndarray:
    """3,000 vectors in six groups, one after the other."""
    rng = np.random.default_rng(3)
    centers = rng.normal(size=(_GROUPS, 40))
    return (centers[np.arange(3000) % _GROUPS] + 0.25 * rng.normal(size=(3000, 40))).astype(np.float32)


def sampled(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray, Clusters]:
    """Every fifth row, its place (each group around its own point) and its group; every fiftieth row of the sample is an outlier."""
    rows = np.arange(0, len(vectors), 5)
    group = rows % _GROUPS
    angle = 2 * np.pi * group / _GROUPS
    xy = 10 * np.stack([np.cos(angle), np.sin(angle)], 1) + np.random.default_rng(1).normal(size=(len(rows), 2))
    ids = np.where(np.arange(len(rows)) % 50 == 7, -1, group)
    words = tuple((f"word{number}",) for number in range(_GROUPS))
    typical = np.full(len(rows), 0.5, np.float32)
    sizes = tuple(np.bincount(ids[ids >= 0], minlength=_GROUPS).tolist())
    labels = tuple(f"topic {number}" for number in range(_GROUPS))
    return rows, xy.astype(np.float32), Clusters(ids, labels, sizes, words, np.full(_GROUPS, -1), (), typical, group)


def test_rows_are_placed_near_their_exact_neighbors_and_sampled_rows_stay(vectors: np.ndarray, tmp_path: Path) -> None:
    rows, xy, groups = sampled(vectors)
    found = large_maps.find_sampled(vectors, rows, groups, "cosine")
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    exact = np.argsort(-(unit @ unit[rows].T), axis=1)[:, :5]
    shared = [len(np.intersect1d(a, b)) for a, b in zip(found.near, exact, strict=True)]
    assert np.mean(shared) / 5 > 0.9  # all 40 dimensions are kept, so that only the lists are approximate
    assert np.array_equal(found.near[rows, 0], np.arange(len(rows)))
    made = large_maps.place_rows(found, rows, xy, ProjectionParams(seed=1), tmp_path)
    assert np.array_equal(made[rows], xy)
    middles = np.stack([np.median(xy[rows % _GROUPS == group], axis=0) for group in range(_GROUPS)])
    nearest = np.linalg.norm(made[:, None] - middles, axis=2).argmin(axis=1)
    assert (nearest == np.arange(len(vectors)) % _GROUPS).mean() > 0.99
    again = large_maps.place_rows(found, rows, xy, ProjectionParams(seed=1), tmp_path)
    assert np.array_equal(made, again)


def test_clusters_come_from_the_nearest_centroid_and_outliers_keep_their_share(vectors: np.ndarray) -> None:
    rows, _, groups = sampled(vectors)
    found = large_maps.find_sampled(vectors, rows, groups, "cosine")
    whole = large_maps.renumber(large_maps.assign_clusters(found, rows, groups))
    truth = np.array([f"topic {row % _GROUPS}" for row in range(len(vectors))])
    named = np.array([whole.labels[number] if number >= 0 else "" for number in whole.ids])
    inside = whole.ids >= 0
    assert (named[inside] == truth[inside]).mean() > 0.99
    assert whole.sizes == tuple(np.bincount(whole.ids[inside]).tolist()) == tuple(sorted(whole.sizes, reverse=True))
    assert 0.01 < (~inside).mean() < 0.05
    assert np.array_equal(whole.ids[rows] < 0, groups.ids < 0)
    assert whole.typicality[rows].tolist() == [0.5] * len(rows)


def test_places_and_clusters_are_stored(vectors: np.ndarray, tmp_path: Path) -> None:
    rows, xy, groups = sampled(vectors)
    found = large_maps.find_sampled(vectors, rows, groups, "cosine")
    points, whole = (
        large_maps.place_rows(found, rows, xy, ProjectionParams(seed=1), tmp_path),
        large_maps.assign_clusters(found, rows, groups),
    )
    path = tmp_path / "placed.npy"
    assert large_maps.load_placed(path, len(vectors), 2, groups) is None
    large_maps.store_placed(path, points, whole)
    again = large_maps.load_placed(path, len(vectors), 2, groups)
    assert np.array_equal(again[0], points)
    for name in ("ids", "nearest", "typicality", "labels", "sizes"):
        assert np.array_equal(getattr(again[1], name), getattr(whole, name)), name
    assert large_maps.load_placed(path, len(vectors), 3, groups) is None
    assert large_maps.sample_digest(xy, groups) != large_maps.sample_digest(xy + 1, groups)


def test_a_map_of_many_texts_uses_a_sample_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_maps, "LARGE_MAP_ROWS", 300)
    monkeypatch.setattr(large_maps, "SAMPLE_ROWS", 120)
    words = ("bank card", "sourdough bread", "rain tomorrow", "old museum")
    texts = tuple(f"{words[row % 4]} {row}" for row in range(400))
    corpus = Corpus("many", texts, {}, tuple(range(1, 401)), digest_texts(texts))
    with Studio(Settings(home=tmp_path, default_model=str(write_model(tmp_path / "model")))) as studio:
        view = studio.map.draw(corpus, ProjectionParams(seed=1))
        with pytest.MonkeyPatch.context() as stored:
            stored.setattr(large_maps, "find_sampled", lambda *_: pytest.fail("placed again"))
            again = studio.map.draw(corpus, ProjectionParams(seed=1))
        small = studio.map.draw(corpus.subset(range(200), "few", "test"), ProjectionParams(seed=1))
    assert np.array_equal(again.points, view.points) and np.array_equal(again.ids, view.ids) and again.topics == view.topics
    assert view.points.shape == (400, 2)
    assert np.isfinite(view.points).all()
    assert len(view.ids) == 400
    assert "computed from 120 of 400 texts" in str(view.notes[0])
    assert not any("computed from" in str(note) for note in small.notes)
