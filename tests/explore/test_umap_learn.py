"""The layout by umap-learn: its own numbers, heard stops, and nothing changed for whoever else computes. Ours is held against it.

All tests that compute with umap-learn are in this file, so that one worker compiles it.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import numba
import numpy as np
import pytest
import torch
from sklearn.manifold import trustworthiness

from sbert_studio.explore import umap
from sbert_studio.explore.projection import ProjectionParams, project, umap_learn_layout
from sbert_studio.explore.umap import SHIFT, LayoutSettings, fit_curve, force_tables, fuzzy_union, nearest_neighbors
from sbert_studio.models.similarity import unit
from sbert_studio.progress import StoppedError, stoppable
from sbert_studio.workspace import Workspace

BASE = f"{'c' * 32}-{'d' * 16}"


@pytest.fixture(scope="module")
def umap_learn() -> ModuleType:
    """Import umap-learn when a test runs, not in each process that collects this file: it compiles for seconds."""
    return importlib.import_module("umap.umap_")


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    rng = np.random.default_rng(3)
    return (rng.normal(size=(4, 8))[rng.integers(0, 4, 120)] + 0.2 * rng.normal(size=(120, 8))).astype(np.float32)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_map_by_umap_learn_is_umap_learns_own(umap_learn: ModuleType, vectors: np.ndarray, workspace: Workspace) -> None:
    own = umap_learn.UMAP(n_neighbors=15, min_dist=0.1, metric="cosine", random_state=12, n_jobs=1).fit_transform(unit(vectors))
    told: list[tuple[int, int]] = []
    made = project(vectors, ProjectionParams(seed=12, layout="umap-learn"), BASE, workspace, lambda done, total: told.append((done, total)))
    assert np.array_equal(made.xy, own) and told and told[-1][0] <= told[-1][1]
    assert not np.array_equal(made.xy, project(vectors, ProjectionParams(seed=12), BASE, workspace).xy), "each is kept by its own name"


def test_few_rows_and_equal_rows_are_laid_out_without_it(vectors: np.ndarray, tmp_path: Path) -> None:
    few = umap_learn_layout(vectors[:3], tmp_path, LayoutSettings(2, 15, 0.1))
    assert few.shape == (3, 2) and np.isfinite(few).all()
    same = umap_learn_layout(np.ones((40, 8), np.float32), tmp_path, LayoutSettings(3, 15, 0.1))
    assert same.shape == (40, 3) and not same.any()


@pytest.mark.slow
def test_it_stops_when_asked_and_draws_again(vectors: np.ndarray, tmp_path: Path) -> None:
    seen: list[int] = []
    threads = torch.get_num_threads()
    with pytest.raises(StoppedError), stoppable(lambda: bool(seen)):
        umap_learn_layout(vectors, tmp_path, LayoutSettings(2, 15, 0.1, seed=12), progress=lambda done, _: seen.append(done))
    assert seen
    # Numba, as it starts, sets the threads of whoever started it, and umap-learn leaves them at one where a seeded map is stopped.
    assert torch.get_num_threads() == threads
    assert numba.get_num_threads() == numba.config.NUMBA_NUM_THREADS
    again = umap_learn_layout(vectors, tmp_path, LayoutSettings(2, 15, 0.1, seed=12))
    assert np.isfinite(again).all()


@pytest.mark.slow
def test_the_graph_equals_umaps(umap_learn: ModuleType) -> None:
    points = np.random.default_rng(4).normal(size=(300, 6)).astype(np.float32)
    points[:5] = points[5]  # copies have neighbours at no distance
    rows, distances = nearest_neighbors(points, 15)
    expected = umap_learn.fuzzy_simplicial_set(points, 15, np.random.RandomState(0), "euclidean", knn_indices=rows, knn_dists=distances)[0]
    assert abs(fuzzy_union(rows, distances, Path()) - expected.tocsr()).max() < 1e-5


@pytest.mark.parametrize("min_dist", [0.0, 0.1, 0.5, 0.99])
def test_the_forces_are_those_of_umap(umap_learn: ModuleType, min_dist: float) -> None:
    a, b = fit_curve(min_dist)
    assert np.allclose((a, b), umap_learn.find_ab_params(1.0, min_dist), rtol=1e-4)
    tables, square = force_tables(min_dist), np.float32([1e-4, 0.02, 0.7, 3, 90])
    at = (square.view(np.int32) >> SHIFT) - tables.lowest
    wide = square.astype(np.float64)
    assert np.allclose(tables.pull[at], -2 * a * b * wide ** (b - 1) / (1 + a * wide**b), rtol=0.02)
    assert np.allclose(tables.push[at], 2 * b / ((0.001 + wide) * (1 + a * wide**b)), rtol=0.02)


@pytest.mark.slow
def test_a_layout_keeps_neighbours_as_well_as_umap_does(umap_learn: ModuleType, bank: np.ndarray) -> None:
    ours = umap.umap_layout(bank, Path(), LayoutSettings(2, 15, 0.1, seed=3))
    plain = umap_learn.UMAP(metric="cosine", random_state=3, n_jobs=1).fit_transform(bank)
    kept = [trustworthiness(bank, xy, n_neighbors=15, metric="cosine") for xy in (ours, plain)]
    assert kept[0] > kept[1] - 0.01
