"""The layout by umap-learn: its own numbers, heard stops, and nothing changed for whoever else computes."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
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


def test_it_stops_when_asked_and_draws_again(vectors: np.ndarray, tmp_path: Path) -> None:
    seen: list[int] = []
    with pytest.raises(StoppedError), stoppable(lambda: bool(seen)):
        by_umap_learn(vectors, tmp_path, dimensions=2, n_neighbors=15, min_dist=0.1, seed=12, progress=lambda done, _: seen.append(done))
    assert seen
    again = by_umap_learn(vectors, tmp_path, dimensions=2, n_neighbors=15, min_dist=0.1, seed=12)
    assert np.isfinite(again).all()


@pytest.mark.process
def test_it_leaves_everyones_threads_alone(tmp_path: Path) -> None:
    """In a process of its own, where numba has not started yet: it would set the threads of whoever starts it, training or not."""
    source = f"""
        import threading, numpy as np, torch
        from pathlib import Path
        from sbert_studio.explore.maps.reference import by_umap_learn

        found = []
        def map_and_count():
            by_umap_learn(np.random.default_rng(0).normal(size=(60, 4)).astype("f"), Path({str(tmp_path)!r}), dimensions=2, n_neighbors=5,
                          min_dist=0.1)
            found.append(torch.get_num_threads())
        before = torch.get_num_threads()
        for _ in range(2):
            thread = threading.Thread(target=map_and_count)
            thread.start()
            thread.join()
        later = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
        later.start()
        later.join()
        assert [*found, torch.get_num_threads()] == [before] * 4, (before, found, torch.get_num_threads())
    """
    environment = {**os.environ, "OMP_NUM_THREADS": "3", "NUMBA_NUM_THREADS": "2"}
    subprocess.run([sys.executable, "-c", textwrap.dedent(source)], check=True, timeout=240, env=environment)
