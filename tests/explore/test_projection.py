from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core.caching import IndexDataCacheFile
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness
from sklearn.neighbors import NearestNeighbors
from tqdm import tqdm
from umap import layouts, umap_

from sbert_studio.data.progress import StoppedError, stoppable
from sbert_studio.errors import StudioError
from sbert_studio.explore import compiled, layout
from sbert_studio.explore.projection import ProjectionParams, project
from sbert_studio.explore.reduction import neighbours, principal_components
from sbert_studio.registry import fields_of, parse_params
from sbert_studio.workspace import Workspace

BASE = f"{'a' * 32}-{'b' * 16}"


@pytest.fixture
def no_umap(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lays out by principal components; the list gets the number of rows of each layout."""
    made: list[int] = []

    def fit(points: np.ndarray, cache: object, *, dimensions: int, **settings: object) -> np.ndarray:
        made.append(len(points))
        return points[:, :dimensions].copy()

    monkeypatch.setattr(layout, "_fit", fit)
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
    rows, distances = neighbours(points, 7)
    expected, order = NearestNeighbors(n_neighbors=7).fit(points).kneighbors(points)
    assert np.array_equal(rows, order)
    assert np.allclose(distances, expected, atol=2e-3)


def test_each_row_is_its_own_first_neighbour_among_copies() -> None:
    points = np.repeat(np.random.default_rng(2).normal(size=(3, 4)).astype(np.float32), 20, axis=0)
    rows, distances = neighbours(points, 5)
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


def test_a_cancelled_map_keeps_no_other_bar_waiting(workspace: Workspace) -> None:
    vectors, told, threads = np.random.default_rng(1).normal(size=(3000, 8)), list[int](), numba.get_num_threads()
    with pytest.raises(StoppedError), stoppable(lambda: len(told) > 0):
        project(vectors, ProjectionParams(seed=3), BASE, workspace, lambda done, total: told.append(done))
    assert len(told) == 1
    assert numba.get_num_threads() == threads
    printed = threading.Thread(target=lambda: list(tqdm(range(2), file=io.StringIO())), daemon=True)
    printed.start()
    printed.join(20)
    assert not printed.is_alive()


def test_a_map_leaves_the_threads_of_torch_as_they_are(tmp_path: Path) -> None:
    script = """if True:
        import sys, pathlib, torch, numpy as np
        from sbert_studio.explore.layout import warm_up
        warm_up(pathlib.Path(sys.argv[1]))
        print(torch.get_num_threads())
    """
    environ = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True, env=environ)
    assert done.stdout.split() == ["1"]


def test_what_umap_compiles_anew_in_each_process_is_kept_on_disk() -> None:
    for seed in (-1, 0):  # on all processors, and on one: compiled in two ways
        layout.layout(np.random.default_rng(0).normal(size=(64, 8)), Path(), dimensions=2, n_neighbors=5, min_dist=0.1, seed=seed)
    epoch, parallel = layouts._nb_optimize_layout_euclidean_single_epoch, layouts._nb_optimize_layout_euclidean_single_epoch_parallel
    for function in (umap_.smooth_knn_dist, umap_.compute_membership_strengths, epoch, parallel):
        stats = function.stats
        assert sum((stats.cache_hits | stats.cache_misses).values()) >= 1  # it was looked for on disk, and is kept there now
        assert list(Path(stats.cache_path).glob(f"*{function.py_func.__name__}*.nbc"))
    assert epoch._cache._impl.filename_base != parallel._cache._impl.filename_base  # numba itself would take one for the other


def test_damaged_compiled_code_is_compiled_anew(tmp_path: Path) -> None:
    compiled._only_a_cache()
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
    monkeypatch.setattr(compiled.os, "access", lambda folder, mode: writable or Path(folder) == Path("cache"))
    compiled._choose_folder(Path("cache"))
    assert expected == numba.config.CACHE_DIR


def test_a_map_is_made_once_for_each_setting(blobs, workspace: Workspace, no_umap: list[int]) -> None:
    vectors = blobs[0]
    first = project(vectors, ProjectionParams(), BASE, workspace)
    again = project(vectors, ProjectionParams(), BASE, workspace)
    assert np.array_equal(first.xy, again.xy) and first.key == again.key and len(no_umap) == 1
    keys = {project(vectors, params, BASE, workspace).key for params in (ProjectionParams(min_dist=0.2), ProjectionParams(seed=1))}
    assert len(keys | {first.key}) == 3 == len(no_umap)
    project(vectors, ProjectionParams(), "another", workspace)
    assert len(no_umap) == 4
    with pytest.raises(ValueError, match="read-only"):
        again.xy[0] = 0


def test_a_damaged_map_is_drawn_again(blobs, workspace: Workspace, no_umap: list[int]) -> None:
    made = project(blobs[0], ProjectionParams(), BASE, workspace)
    path = workspace.projection(made.key)
    path.write_bytes(path.read_bytes()[:-8])
    assert np.array_equal(project(blobs[0], ProjectionParams(), BASE, workspace).xy, made.xy)
    assert len(no_umap) == 2


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 11])
def test_few_rows_are_laid_out_without_umap(rows: int, workspace: Workspace, no_umap: list[int]) -> None:
    vectors = np.random.default_rng(rows).normal(size=(rows, 6)).astype(np.float32)
    xy = project(vectors, ProjectionParams(dimensions=3), BASE, workspace).xy
    assert xy.shape == (rows, 3) and np.isfinite(xy).all() and no_umap == []
    assert rows < 3 or len(np.unique(xy, axis=0)) == rows


def test_rows_that_all_coincide_lie_at_the_origin(workspace: Workspace, no_umap: list[int]) -> None:
    xy = project(np.ones((50, 6), np.float32), ProjectionParams(), BASE, workspace).xy
    assert xy.shape == (50, 2) and not xy.any() and no_umap == []


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


def test_every_setting_describes_itself() -> None:
    assert all(field.help for field in fields_of(ProjectionParams))
    assert ProjectionParams(n_neighbors=20.0).key == ProjectionParams(n_neighbors=20).key  # type: ignore[arg-type]
