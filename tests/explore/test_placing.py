"""New points on a map that stands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sbert_studio.explore.projection import ProjectionParams, match_earlier_rows, place_new_points, project
from sbert_studio.workspace import Workspace

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
