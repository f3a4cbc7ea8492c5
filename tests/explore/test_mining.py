from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sbert_studio.data.progress import StoppedError, stoppable
from sbert_studio.errors import StudioError
from sbert_studio.explore import mining, products
from sbert_studio.explore.mining import most_similar_pairs


def brute_force(vectors: np.ndarray) -> list[tuple[int, int, float]]:
    rows = vectors.astype(np.float64)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = np.round(rows @ rows.T, 12)
    left, right = np.triu_indices(len(rows), 1)
    order = np.lexsort((right, left, -cosines[left, right]))
    return [(int(left[place]), int(right[place]), float(cosines[left[place], right[place]])) for place in order]


def check(vectors: np.ndarray, top: int) -> None:
    expected = brute_force(vectors)[:top]
    found = most_similar_pairs(vectors, top)
    assert [(pair.a, pair.b) for pair in found] == [(a, b) for a, b, _ in expected]
    assert np.allclose([pair.score for pair in found], [score for _, _, score in expected], atol=1e-9)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "_CELLS", 600)
    monkeypatch.setattr(mining, "_AT_ONCE", 50)


@pytest.mark.parametrize("top", [1, 7, 400, 5000])
def test_the_pairs_equal_brute_force_over_many_blocks(top: int, small_blocks: None) -> None:
    check(np.random.default_rng(top).normal(size=(90, 16)).astype(np.float32), top)


@pytest.mark.parametrize("top", [1, 5, 60, 300])
def test_equal_vectors_tie_and_are_ordered_by_row(top: int, small_blocks: None) -> None:
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(20, 24)).astype(np.float32)
    check(vectors[rng.integers(0, 20, 80)], top)


def test_pairs_closer_than_single_precision_can_tell_are_told_apart() -> None:
    rng = np.random.default_rng(2)
    base = rng.normal(size=(1, 64))
    vectors = (base + 1e-4 * rng.normal(size=(60, 64))).astype(np.float32)
    check(vectors, 25)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3).filter(any), min_size=2, max_size=14), st.integers(1, 30))
def test_small_integer_vectors_with_many_ties_equal_brute_force(rows: list[list[int]], top: int) -> None:
    check(np.array(rows, np.float32), top)


def test_all_pairs_come_once_with_the_smaller_row_first() -> None:
    pairs = most_similar_pairs(np.random.default_rng(3).normal(size=(9, 4)).astype(np.float32), 1000)
    assert len(pairs) == 36 == len({(pair.a, pair.b) for pair in pairs})
    assert all(pair.a < pair.b for pair in pairs)


def test_a_corpus_of_copies_ends_early_and_in_order(small_blocks: None) -> None:
    told: list[tuple[int, int]] = []
    pairs = most_similar_pairs(np.ones((300, 8), np.float32), 4, progress=lambda done, total: told.append((done, total)))
    assert [(pair.a, pair.b) for pair in pairs] == [(0, 1), (0, 2), (0, 3), (0, 4)]
    assert told[-1] == (300, 300) and len(told) < 5


def test_too_few_rows_give_no_pairs_and_bad_numbers_are_refused() -> None:
    assert most_similar_pairs(np.ones((1, 3), np.float32), 3) == []
    assert most_similar_pairs(np.ones((0, 3), np.float32), 3) == []
    for top in (0, 100_001):
        with pytest.raises(StudioError, match="top is"):
            most_similar_pairs(np.ones((3, 3), np.float32), top)
    with pytest.raises(StoppedError), stoppable(lambda: True):
        most_similar_pairs(np.ones((3, 3), np.float32), 1)


def test_a_zero_vector_is_like_nothing() -> None:
    vectors = np.eye(3, dtype=np.float32)
    vectors[2] = 0
    assert [pair.score for pair in most_similar_pairs(vectors, 3)] == [0, 0, 0]
