"""Near-duplicates against connected components and greedy groups of every pair."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

from sbert_studio.errors import StudioError
from sbert_studio.explore import duplicates, products
from sbert_studio.explore.duplicates import build_duplicate_tree, find_groups, group_around_centers
from sbert_studio.progress import StoppedError, stoppable


def brute_force(vectors: np.ndarray, threshold: float) -> list[tuple[int, ...]]:
    rows = vectors.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    group = connected_components(np.round(rows @ rows.T, 12) >= threshold, directed=False)[1]
    members = [tuple(np.flatnonzero(group == name).tolist()) for name in np.unique(group)]
    return sorted((rows for rows in members if len(rows) > 1), key=lambda rows: (-len(rows), rows[0]))


def blobs(seed: int, rows: int, noise: float = 0.2) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(rows // 4 + 1, 6))[rng.integers(0, rows // 4 + 1, rows)] + noise * rng.normal(size=(rows, 6))).astype(
        np.float32
    )


@given(st.integers(0, 1000), st.integers(0, 60), st.sampled_from([0.8, 0.9, 0.97, 1.0]), st.sampled_from([40, 4_000_000]))
def test_components_at_any_threshold_are_those_of_all_pairs(seed: int, rows: int, threshold: float, cells: int) -> None:
    vectors = blobs(seed, rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "_CELLS", cells)
        tree = build_duplicate_tree(vectors)
    found = tree.components(threshold)
    assert found == brute_force(vectors, threshold)
    assert tree.max_removed(threshold) == sum(map(len, found)) - len(found)
    assert len(tree.scores) < max(1, rows) and (np.diff(tree.scores) <= 0).all()


def test_rows_of_one_text_are_joined_without_being_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, texts = blobs(5, 40), [f"text {row}" for row in range(40)]
    for row in (7, 30):
        texts[row], vectors[row] = texts[3], vectors[3]
    tree = build_duplicate_tree(vectors, texts)
    assert tree.components(1.0) == [(3, 7, 30)]
    assert tree.components(0.85) == brute_force(vectors, 0.85)
    many = build_duplicate_tree(np.ones((5000, 2), np.float32), ["the same"] * 5000)
    assert many.components(0.9) == [tuple(range(5000))]


def test_zeros_are_alike_to_nothing_bad_thresholds_are_refused_and_a_stop_is_heard() -> None:
    vectors = np.ones((3, 4), np.float32)
    vectors[1] = 0
    assert build_duplicate_tree(vectors).components(0.8) == [(0, 2)]
    assert build_duplicate_tree(vectors[:0]).components(0.9) == []
    assert build_duplicate_tree(vectors[:1]).max_removed(0.9) == 0
    with pytest.raises(StudioError, match="choose a cosine between 0"):
        build_duplicate_tree(blobs(1, 9)).components(0.5)
    with pytest.raises(StudioError, match="threshold"):
        build_duplicate_tree(blobs(1, 9), least=1.5)
    with pytest.raises(StoppedError), stoppable(lambda: True):
        build_duplicate_tree(blobs(1, 9))


def greedy(vectors: np.ndarray, order: Sequence[int], threshold: float) -> list[tuple[int, ...]]:
    """Groups by comparing one row after the other with all that are left, the center of each first."""
    rows = vectors.astype(np.float64) / np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    cosines, found, left = rows @ rows.T, [], list(order)
    while left:
        center, *others = left
        near = [row for row in others if cosines[center, row] >= threshold]
        left = [row for row in others if row not in near]
        found += [(center, *sorted(near))] if near else []
    return found


@given(st.integers(0, 1000), st.integers(1, 80), st.sampled_from([0.8, 0.95]), st.sampled_from([1, 3, 256]))
def test_groups_are_those_of_comparing_one_row_after_the_other(seed: int, rows: int, threshold: float, block: int) -> None:
    vectors = blobs(seed, rows)
    order = np.random.default_rng(seed).permutation(rows).tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "_BLOCK", block)
        found = group_around_centers(vectors, order, threshold)
    assert [(star[0], *sorted(star[1:])) for star in found] == greedy(vectors, order, threshold)
    # Within the components of the tree, the groups are the same as among all rows.
    texts = [f"text {row}" for row in range(rows)]
    groups = find_groups(build_duplicate_tree(vectors), vectors, texts, threshold, chosen=order[::-1])
    assert {(group.kept, group.rows) for group in groups} == {(star[0], tuple(sorted(star))) for star in greedy(vectors, order, threshold)}


def test_a_chain_of_small_steps_is_taken_apart() -> None:
    angles = np.arange(12) * np.arccos(0.97)
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    tree = build_duplicate_tree(vectors)
    assert tree.components(0.95) == [tuple(range(12))], "all of them hang together"
    assert group_around_centers(vectors, range(12), 0.95) == [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9), (10, 11)]
    assert group_around_centers(vectors, [5, 0, 1], 0.95, ["same"] * 12) == [(5, 0, 1)], "rows of one text are alike"
    texts = [f"step {row}" for row in range(12)]
    groups = {group.rows: group.kept for group in find_groups(tree, vectors, texts, 0.95, apart=[(0, 1)], chosen=[4])}
    assert groups[0, 1] is None and groups[3, 4, 5] == 4 and (2, 3) not in groups
