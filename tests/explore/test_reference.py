"""The layout by umap-learn: its own numbers, heard stops, and nothing changed for whoever else computes."""

from __future__ import annotations

from pathlib import Path

import numba
import numpy as np
import pytest
import torch
from umap import UMAP

from sbert_studio.data.progress import StoppedError, stoppable
from sbert_studio.encoders.unit import unit
from sbert_studio.explore.maps.projection import ProjectionParams, project
from sbert_studio.explore.maps.reference import by_umap_learn
from sbert_studio.workspace import Workspace

BASE = f"{'c' * 32}-{'d' * 16}"


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    rng = np.random.default_rng(3)
    return (rng.normal(size=(4, 8))[rng.integers(0, 4, 120)] + 0.2 * rng.normal(size=(120, 8))).astype(np.float32)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_map_by_umap_learn_is_umap_learns_own(vectors: np.ndarray, workspace: Workspace) -> None:
    own = UMAP(n_neighbors=15, min_dist=0.1, metric="cosine", random_state=12, n_jobs=1).fit_transform(unit(vectors))
    told: list[tuple[int, int]] = []
    made = project(vectors, ProjectionParams(seed=12, layout="umap-learn"), BASE, workspace, lambda done, total: told.append((done, total)))
    assert np.array_equal(made.xy, own) and told and told[-1][0] <= told[-1][1]
    assert not np.array_equal(made.xy, project(vectors, ProjectionParams(seed=12), BASE, workspace).xy), "each is kept by its own name"


def test_few_rows_and_equal_rows_are_laid_out_without_it(vectors: np.ndarray, tmp_path: Path) -> None:
    few = by_umap_learn(vectors[:3], tmp_path, dimensions=2, n_neighbors=15, min_dist=0.1)
    assert few.shape == (3, 2) and np.isfinite(few).all()
    same = by_umap_learn(np.ones((40, 8), np.float32), tmp_path, dimensions=3, n_neighbors=15, min_dist=0.1)
    assert same.shape == (40, 3) and not same.any()


@pytest.mark.slow
def test_it_stops_when_asked_and_draws_again(vectors: np.ndarray, tmp_path: Path) -> None:
    seen: list[int] = []
    threads = torch.get_num_threads()
    with pytest.raises(StoppedError), stoppable(lambda: bool(seen)):
        by_umap_learn(vectors, tmp_path, dimensions=2, n_neighbors=15, min_dist=0.1, seed=12, progress=lambda done, _: seen.append(done))
    assert seen
    # Numba, as it starts, sets the threads of whoever started it, and umap-learn leaves them at one where a seeded map is stopped.
    assert torch.get_num_threads() == threads
    assert numba.get_num_threads() == numba.config.NUMBA_NUM_THREADS
    again = by_umap_learn(vectors, tmp_path, dimensions=2, n_neighbors=15, min_dist=0.1, seed=12)
    assert np.isfinite(again).all()
