"""None"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core.caching import IndexDataCacheFile
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness
from sklearn.neighbors import NearestNeighbors
from tiny_studio import write_model

from sbert_studio.data.corpus import Corpus
from sbert_studio.errors import StudioError
from sbert_studio.explore import projection, umap, umap_kernels
from sbert_studio.explore.clusters import Clusters
from sbert_studio.explore.projection import ProjectionParams, match_earlier_rows, place_new_points, project
from sbert_studio.explore.umap import LayoutSettings, NeighborGraphCache, approximate_neighbors, nearest_neighbors, principal_components
from sbert_studio.models.similarity import unit
from sbert_studio.progress import StoppedError, stoppable
from sbert_studio.registry import parse_params
from sbert_studio.services import Studio
from sbert_studio.settings import Settings
from sbert_studio.workspace import Workspace, digest_texts

BASE = f"{'a' * 32}-{'b' * 16}"


@pytest.fixture
def no_descent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Points stay where they begin; the list gets the number of rows of each layout."""
    made: list[int] = []

    def descend(places: np.ndarray, graph: object, cache: object, **settings: object) -> np.ndarray:
        made.append(len(places))
        return places.copy()

    monkeypatch.setattr(umap, "optimize_layout", descend)
    return made


def test_components_equal_sklearn_up_to_their_sign() -> None:
    vectors = (np.random.default_rng(0).normal(size=(200, 12)) * np.arange(1, 13) + 5).astype(np.float32)
    expected = PCA(4, svd_solver="full").fit_transform(vectors)
    found = principal_components(vectors, 4)
    assert np.allclose(found * np.sign((found * expected).sum(axis=0)), expected, atol=1e-3)
    assert np.array_equal(found, principal_components(vectors, 4))
    assert principal_components(vectors[:, :2], 5).shape == (200, 5)
    assert principal_components(vectors[:0], 3).shape == (0, 3)


def test_neighbours_equal_sklearn_and_begin_with_the_row_itself() -> None:
    points = np.random.default_rng(1).normal(size=(80, 6)).astype(np.float32)
    rows, distances = nearest_neighbors(points, 7)
    expected, order = NearestNeighbors(n_neighbors=7).fit(points).kneighbors(points)
    assert np.array_equal(rows, order)
    assert np.allclose(distances, expected, atol=2e-3)
    points = np.repeat(np.random.default_rng(2).normal(size=(3, 4)).astype(np.float32), 20, axis=0)
    rows, distances = nearest_neighbors(points, 5)
    assert np.array_equal(rows[:, 0], np.arange(60))
    assert all(len(set(row)) == 5 for row in rows.tolist())
    assert np.allclose(distances, 0, atol=1e-3) and np.isfinite(distances).all()


@pytest.mark.parametrize("dimensions", [2, 3])
def test_umap_keeps_neighbours_together_and_repeats_itself_with_a_seed(
    dimensions: int, blobs: tuple[np.ndarray, np.ndarray, list[str]], workspace: Workspace, tmp_path_factory: pytest.TempPathFactory
) -> None:
    vectors, truth, _ = blobs
    params = ProjectionParams(dimensions=dimensions, seed=3)
    told: list[tuple[int, int]] = []
    first = project(vectors, params, BASE, workspace, lambda done, total: told.append((done, total)))
    assert first.xy.shape == (120, dimensions) and first.xy.dtype == np.float32 and np.isfinite(first.xy).all()
    assert trustworthiness(vectors, first.xy, n_neighbors=5, metric="cosine") > 0.85
    centres = np.stack([first.xy[truth == group].mean(axis=0) for group in range(4)])
    nearest = np.linalg.norm(first.xy[:, None] - centres, axis=2).argmin(axis=1)
    assert (nearest == truth).mean() > 0.98
    assert told and told[-1][0] == told[-1][1] > 0
    other = Workspace(tmp_path_factory.mktemp("other"))
    assert np.array_equal(project(vectors, params, BASE, other).xy, first.xy)


def test_a_map_ends_when_asked(workspace: Workspace) -> None:
    vectors, told = np.random.default_rng(1).normal(size=(3000, 8)), list[int]()
    with pytest.raises(StoppedError), stoppable(lambda: len(told) > 0):
        project(vectors, ProjectionParams(seed=3), BASE, workspace, lambda done, total: told.append(done))
    assert told == [1]


@pytest.mark.slow
def test_the_processors_make_no_difference(bank: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    wide, made = np.tile(bank, (3, 1)) + np.random.default_rng(0).normal(scale=0.05, size=(3 * len(bank), bank.shape[1])), []
    for processors in (1, 2, 5):
        monkeypatch.setattr(umap, "_processors", lambda number=processors: number)
        made.append(umap.umap_layout(wide, Path(), LayoutSettings(2, 10, 0.1, seed=5)))
    assert len(wide) > 2 * umap._BLOCK_ROWS  # several blocks
    assert np.array_equal(made[0], made[1]) and np.array_equal(made[0], made[2])
    assert not np.array_equal(umap.umap_layout(wide, Path(), LayoutSettings(2, 10, 0.1)), made[0])


def test_many_rows_are_looked_up_nearly_all(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    points = (rng.normal(size=(40, 20))[rng.integers(0, 40, 6000)] + rng.normal(scale=0.4, size=(6000, 20))).astype(np.float32)
    truth, _, whole = approximate_neighbors(points, 15)
    assert whole == 1
    monkeypatch.setattr(umap, "_EXACT_ROWS", 1000)
    rows, distances, recall = approximate_neighbors(points, 15)
    found = np.mean([len(np.intersect1d(*pair)) / 15 for pair in zip(rows, truth, strict=True)])
    assert 0.98 <= recall < 1 and abs(found - recall) < 0.02
    assert np.array_equal(rows[:, 0], np.arange(6000)) and (np.diff(distances, axis=1) >= 0).all()
    assert np.allclose(distances, np.linalg.norm(points[rows] - points[:, None], axis=2), atol=2e-3)


def test_neighbours_are_looked_for_once_a_corpus(blobs, workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, asked, original = blobs[0], list[int](), umap.approximate_neighbors
    monkeypatch.setattr(umap, "approximate_neighbors", lambda points, k: asked.append(k) or original(points, k))
    kept = NeighborGraphCache()
    for params in (ProjectionParams(seed=1), ProjectionParams(min_dist=0.4, seed=1), ProjectionParams(n_neighbors=25, seed=1)):
        alone = project(vectors, params, BASE, Workspace(workspace.home / f"{params.key}"))
        before = len(asked)
        assert np.array_equal(project(vectors, params, BASE, workspace, graphs=kept).xy, alone.xy)  # a prefix is as good
        assert len(asked) - before == (1 if params == ProjectionParams(seed=1) else 0)
    assert kept.bytes == kept.of(vectors, BASE)(3).nbytes
    assert project(vectors, ProjectionParams(n_neighbors=60, seed=1), BASE, workspace, graphs=kept) and asked[-1] == 100


@pytest.mark.slow
def test_a_slider_moves_the_map_that_stands(bank: np.ndarray, workspace: Workspace) -> None:
    usual = project(bank, ProjectionParams(seed=1), BASE, workspace)
    moved = project(bank, ProjectionParams(min_dist=0.3, seed=1), BASE, workspace)
    other = project(bank, ProjectionParams(seed=2), BASE, workspace)
    alike = [np.corrcoef(one.xy.ravel(), usual.xy.ravel())[0, 1] for one in (moved, other)]
    assert alike[0] > 0.9 and alike[0] > alike[1]
    # whichever way one comes to a setting, the map is the same
    alone = project(bank, ProjectionParams(min_dist=0.3, seed=1), BASE, Workspace(workspace.home / "another"))
    assert np.array_equal(alone.xy, moved.xy)


@pytest.mark.process
def test_a_map_leaves_the_threads_of_torch_as_they_are(tmp_path: Path) -> None:
    script = """if True:
        import sys, pathlib, torch, numpy as np
        from sbert_studio.explore.umap import warm_up
        warm_up(pathlib.Path(sys.argv[1]))
        print(torch.get_num_threads())
    """
    environ = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True, env=environ)
    assert done.stdout.split() == ["1"]


def test_compiled_loops_are_kept_on_disk_and_damaged_ones_compiled_anew(tmp_path: Path) -> None:
    umap.warm_up(Path())
    for function in (umap_kernels.run_epoch, umap_kernels.smooth_distances):
        assert sum((function.stats.cache_hits | function.stats.cache_misses).values()) >= 1
        assert list(Path(function.stats.cache_path).glob(f"*{function.py_func.__name__}*.nbc"))
    umap._ignore_cache_errors()
    kept = IndexDataCacheFile(str(tmp_path), "name", "stamp")
    kept.save("key", b"code")
    assert kept.load("key") == b"code"
    for damaged in (*tmp_path.glob("*.nbi"), *tmp_path.glob("*.nbc")):
        damaged.write_bytes(b"")
        assert kept.load("key") is None
        kept.save("key", b"code")
        assert kept.load("key") == b"code"
    shutil.rmtree(tmp_path)
    kept.save("key", b"code")  # nowhere to write to: it is only not kept
    assert kept.load("key") is None


@pytest.mark.parametrize(("writable", "given", "expected"), [(True, "", ""), (False, "", "cache"), (False, "/own", "/own")])
def test_compiled_code_is_kept_in_the_cache_where_it_cannot_lie_beside_umap(
    writable: bool, given: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", given)
    monkeypatch.setattr(umap.os, "access", lambda folder, mode: writable or Path(folder) == Path("cache"))
    umap._choose_cache_folder(Path("cache"))
    assert expected == numba.config.CACHE_DIR


def test_a_map_is_made_once_for_each_setting_and_drawn_again_where_it_is_damaged(
    blobs, workspace: Workspace, no_descent: list[int]
) -> None:
    vectors = blobs[0]
    first = project(vectors, ProjectionParams(), BASE, workspace)
    again = project(vectors, ProjectionParams(), BASE, workspace)
    assert np.array_equal(first.xy, again.xy) and first.key == again.key and len(no_descent) == 1
    keys = {project(vectors, params, BASE, workspace).key for params in (ProjectionParams(min_dist=0.2), ProjectionParams(seed=1))}
    assert len(keys | {first.key}) == 3 == len(no_descent)
    project(vectors, ProjectionParams(), "another", workspace)
    assert len(no_descent) == 4
    with pytest.raises(ValueError, match="read-only"):
        again.xy[0] = 0
    made = project(blobs[0], ProjectionParams(), BASE, workspace)
    path = workspace.projection(made.key)
    path.write_bytes(path.read_bytes()[:-8])
    assert np.array_equal(project(blobs[0], ProjectionParams(), BASE, workspace).xy, made.xy)
    assert len(no_descent) == 5


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 11])
def test_few_rows_are_laid_out_without_umap(rows: int, workspace: Workspace, no_descent: list[int]) -> None:
    vectors = np.random.default_rng(rows).normal(size=(rows, 6)).astype(np.float32)
    xy = project(vectors, ProjectionParams(dimensions=3), BASE, workspace).xy
    assert xy.shape == (rows, 3) and np.isfinite(xy).all() and no_descent == []
    assert rows < 3 or len(np.unique(xy, axis=0)) == rows


def test_rows_that_all_coincide_lie_at_the_origin(workspace: Workspace, no_descent: list[int]) -> None:
    xy = project(np.ones((50, 6), np.float32), ProjectionParams(), BASE, workspace).xy
    assert xy.shape == (50, 2) and not xy.any() and no_descent == []


def test_many_copies_beside_one_other_are_finite(workspace: Workspace) -> None:
    vectors = np.ones((40, 6), np.float32)
    vectors[-1] = [1, -1, 0, 0, 0, 0]
    xy = project(vectors, ProjectionParams(n_neighbors=200), BASE, workspace).xy
    assert xy.shape == (40, 2) and np.isfinite(xy).all()


@pytest.mark.parametrize("bad", [{"dimensions": 4}, {"n_neighbors": 1}, {"min_dist": 1.0}, {"metric": "hamming"}, {"seed": -2}])
def test_settings_out_of_bounds_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(StudioError):
        ProjectionParams(**bad)  # type: ignore[arg-type]
    with pytest.raises(StudioError):
        parse_params(ProjectionParams, bad)


BASE = f"{'a' * 32}-{'b' * 16}"


def test_rows_are_matched_by_their_texts() -> None:
    earlier = [f"text {row}" for row in range(30)] + ["again", "again"]
    texts = ["new", *earlier[:10], "again", *earlier[10:]]
    found = match_earlier_rows(texts, earlier)
    assert found is not None and found[0] == -1 and found[1] == 0 and (found < 0).sum() == 2
    assert sorted(found[found >= 0]) == list(range(32))
    assert match_earlier_rows(earlier, earlier) is None  # nothing is new
    assert match_earlier_rows(["other", "new", *texts[2:]], earlier) is None  # a text is gone
    assert match_earlier_rows([*earlier, "a", "b", "c", "d"], earlier) is None  # more than a tenth
    assert match_earlier_rows(["a", "b"], ["a"]) is None


@pytest.mark.parametrize("dimensions", [2, 3])
def test_new_points_lie_among_their_neighbours_and_copies_on_their_twins(
    dimensions: int, blobs: tuple[np.ndarray, np.ndarray, list[str]], workspace: Workspace
) -> None:
    vectors, truth, _ = blobs
    params = ProjectionParams(dimensions=dimensions, seed=3)
    old = np.arange(120) >= 10
    standing = project(vectors[old], params, BASE, workspace).xy
    added = np.concatenate([vectors, vectors[20:22] * 3])  # ten that were left out come first, two copies last; a length does not matter
    known = np.concatenate([np.full(10, -1), np.arange(110), [-1, -1]])
    made = place_new_points(added, known, standing, params, Path())
    assert np.array_equal(made.xy[known >= 0], standing)
    assert made.xy.shape == (122, dimensions) and np.isfinite(made.xy).all()
    assert np.array_equal(made.xy[120:], made.xy[20:22])
    centres = np.stack([standing[truth[old] == group].mean(axis=0) for group in range(4)])
    assert np.array_equal(np.linalg.norm(made.xy[:10, None] - centres, axis=2).argmin(axis=1), truth[:10])
    assert np.array_equal(place_new_points(added, known, standing, params, Path()).xy, made.xy)
    # The same rows in another order: what is near is told by the rows of the map that stands.
    order = np.random.default_rng(0).permutation(122)
    mixed = place_new_points(added[order], known[order], standing, params, Path())
    of_row = dict(zip(made.new.tolist(), made.near.tolist(), strict=True))
    assert [sorted(near) for near in mixed.near.tolist()] == [sorted(of_row[row]) for row in order[mixed.new].tolist()]


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
    found = projection.find_sampled(vectors, rows, groups, "cosine")
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    exact = np.argsort(-(unit @ unit[rows].T), axis=1)[:, :5]
    shared = [len(np.intersect1d(a, b)) for a, b in zip(found.near, exact, strict=True)]
    assert np.mean(shared) / 5 > 0.9  # all 40 dimensions are kept, so that only the lists are approximate
    assert np.array_equal(found.near[rows, 0], np.arange(len(rows)))
    made = projection.place_rows(found, rows, xy, ProjectionParams(seed=1), tmp_path)
    assert np.array_equal(made[rows], xy)
    middles = np.stack([np.median(xy[rows % _GROUPS == group], axis=0) for group in range(_GROUPS)])
    nearest = np.linalg.norm(made[:, None] - middles, axis=2).argmin(axis=1)
    assert (nearest == np.arange(len(vectors)) % _GROUPS).mean() > 0.99
    again = projection.place_rows(found, rows, xy, ProjectionParams(seed=1), tmp_path)
    assert np.array_equal(made, again)


def test_clusters_come_from_the_nearest_centroid_and_outliers_keep_their_share(vectors: np.ndarray) -> None:
    rows, _, groups = sampled(vectors)
    found = projection.find_sampled(vectors, rows, groups, "cosine")
    whole = projection.renumber(projection.assign_clusters(found, rows, groups))
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
    found = projection.find_sampled(vectors, rows, groups, "cosine")
    points, whole = (
        projection.place_rows(found, rows, xy, ProjectionParams(seed=1), tmp_path),
        projection.assign_clusters(found, rows, groups),
    )
    path = tmp_path / "placed.npy"
    assert projection.load_placed(path, len(vectors), 2, groups) is None
    projection.store_placed(path, points, whole)
    again = projection.load_placed(path, len(vectors), 2, groups)
    assert np.array_equal(again[0], points)
    for name in ("ids", "nearest", "typicality", "labels", "sizes"):
        assert np.array_equal(getattr(again[1], name), getattr(whole, name)), name
    assert projection.load_placed(path, len(vectors), 3, groups) is None
    assert projection.sample_digest(xy, groups) != projection.sample_digest(xy + 1, groups)


def test_a_map_of_many_texts_uses_a_sample_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projection, "LARGE_MAP_ROWS", 300)
    monkeypatch.setattr(projection, "SAMPLE_ROWS", 120)
    words = ("bank card", "sourdough bread", "rain tomorrow", "old museum")
    texts = tuple(f"{words[row % 4]} {row}" for row in range(400))
    corpus = Corpus("many", texts, {}, tuple(range(1, 401)), digest_texts(texts))
    with Studio(Settings(home=tmp_path, default_model=str(write_model(tmp_path / "model")))) as studio:
        view = studio.map.draw(corpus, ProjectionParams(seed=1))
        with pytest.MonkeyPatch.context() as stored:
            stored.setattr(projection, "find_sampled", lambda *_: pytest.fail("placed again"))
            again = studio.map.draw(corpus, ProjectionParams(seed=1))
        small = studio.map.draw(corpus.subset(range(200), "few", "test"), ProjectionParams(seed=1))
    assert np.array_equal(again.points, view.points) and np.array_equal(again.ids, view.ids) and again.topics == view.topics
    assert view.points.shape == (400, 2)
    assert np.isfinite(view.points).all()
    assert len(view.ids) == 400
    assert "computed from 120 of 400 texts" in str(view.notes[0])
    assert not any("computed from" in str(note) for note in small.notes)


def test_neighbors_of_some_thousand_texts_are_searched_in_more_components() -> None:
    vectors = np.random.default_rng(0).standard_normal((2_000, 160)).astype(np.float32)
    recalls = []
    for rows, components in ((1_999, 50), (2_000, 150)):
        graph = umap.build_neighbor_graph(vectors[:rows], "cosine", 10)
        directions = unit(vectors[:rows])
        nearest = np.argsort(-(directions @ directions.T), axis=1)[:, :10]
        recalls.append(np.mean([len(set(a) & set(b)) for a, b in zip(graph.rows.tolist(), nearest.tolist(), strict=True)]) / 10)
        assert graph.points.shape == (rows, components)
    assert recalls[0] < 0.4 and recalls[1] > 0.7, recalls
