from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sbert_studio.errors import StudioError
from sbert_studio.explore import paraphrase_mining
from sbert_studio.explore import paraphrase_mining as approximate_mining
from sbert_studio.explore.paraphrase_mining import approximate_paraphrase_mining
from sbert_studio.explore.paraphrase_mining import paraphrase_mining as most_similar_pairs
from sbert_studio.explore.products import Int8Products, UnitRows, int8_is_fast
from sbert_studio.models.similarity import unit
from sbert_studio.progress import StoppedError, stoppable


def brute_force(vectors: np.ndarray) -> list[tuple[int, int, float]]:
    rows = vectors.astype(np.float64)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = np.round(rows @ rows.T, 12)
    left, right = np.triu_indices(len(rows), 1)
    order = np.lexsort((right, left, -cosines[left, right]))
    return [(int(left[place]), int(right[place]), float(cosines[left[place], right[place]])) for place in order]


def check(vectors: np.ndarray, top: int, eight: bool | None = None) -> None:
    expected = brute_force(vectors)[:top]
    found = most_similar_pairs(vectors, top, use_int8=eight)
    assert [(pair.a, pair.b) for pair in found] == [(a, b) for a, b, _ in expected]
    assert np.allclose([pair.score for pair in found], [score for _, _, score in expected], atol=1e-9)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paraphrase_mining, "TILE", 16)
    monkeypatch.setattr(paraphrase_mining, "_AT_ONCE", 50)


@pytest.mark.parametrize("top", [1, 7, 400, 5000])
def test_the_pairs_equal_brute_force_over_many_blocks(top: int, small_blocks: None) -> None:
    check(np.random.default_rng(top).normal(size=(90, 16)).astype(np.float32), top)


@pytest.mark.parametrize("top", [1, 5, 60, 300])
def test_equal_vectors_tie_and_are_ordered_by_row(top: int, small_blocks: None) -> None:
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(20, 24)).astype(np.float32)
    check(vectors[rng.integers(0, 20, 80)], top)


def test_close_vectors_and_large_ones_equal_brute_force(monkeypatch: pytest.MonkeyPatch, small_blocks: None) -> None:
    rng = np.random.default_rng(2)
    base = rng.normal(size=(1, 64))
    vectors = (base + 1e-4 * rng.normal(size=(60, 64))).astype(np.float32)
    check(vectors, 25)
    monkeypatch.setattr(paraphrase_mining, "_WHOLE", 0)
    check(clustered(100, 20, 6), 30)


@given(st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3).filter(any), min_size=2, max_size=14), st.integers(1, 30))
def test_small_integer_vectors_with_many_ties_equal_brute_force(rows: list[list[int]], top: int) -> None:
    check(np.array(rows, np.float32), top)


def test_a_corpus_of_copies_ends_early_and_in_order(small_blocks: None) -> None:
    told: list[tuple[int, int]] = []
    pairs = most_similar_pairs(np.ones((300, 8), np.float32), 4, progress=lambda done, total: told.append((done, total)))
    assert [(pair.a, pair.b) for pair in pairs] == [(0, 1), (0, 2), (0, 3), (0, 4)]
    assert told[-1] == (44_850, 44_850) and len(told) < 5


def test_too_few_rows_zeros_and_bad_numbers() -> None:
    assert most_similar_pairs(np.ones((1, 3), np.float32), 3) == []
    assert most_similar_pairs(np.ones((0, 3), np.float32), 3) == []
    for top in (0, 100_001):
        with pytest.raises(StudioError, match="top is"):
            most_similar_pairs(np.ones((3, 3), np.float32), top)
    with pytest.raises(StoppedError), stoppable(lambda: True):
        most_similar_pairs(np.ones((3, 3), np.float32), 1)
    vectors = np.eye(3, dtype=np.float32)
    vectors[2] = 0
    assert [pair.score for pair in most_similar_pairs(vectors, 3)] == [0, 0, 0]


@pytest.fixture
def of_eight_bits() -> None:
    if not int8_is_fast():
        pytest.skip("this processor does not multiply eight bits without loss")


def clustered(count: int, width: int, seed: int) -> np.ndarray:
    """Vectors of which many lie close together, of any length, some of them the same."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(count // 5, width))
    rows = centres[rng.integers(0, len(centres), count)] + 0.2 * rng.normal(size=(count, width))
    rows[rng.integers(0, count, 4)] = rows[0]
    return np.asarray(rows * rng.uniform(0.1, 5, (count, 1)), np.float32)


@pytest.mark.parametrize("top", [1, 40, 900, 12_000])
@pytest.mark.parametrize("width", [8, 65])
def test_pairs_found_by_eight_bits_equal_brute_force(top: int, width: int, small_blocks: None, of_eight_bits: None) -> None:
    check(clustered(150, width, top), top, eight=True)


def test_a_component_far_larger_than_the_others_is_spread_by_a_rotation(small_blocks: None, of_eight_bits: None) -> None:
    vectors = clustered(300, 128, 1)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[:, 7] += 3
    eight = Int8Products(unit(vectors), unit(vectors), 2e-5)
    assert eight._rotation_matrix is not None and eight._error < 0.05
    check(vectors, 50, eight=True)


def test_eight_bits_lose_no_more_than_they_say(of_eight_bits: None) -> None:
    rows, others = clustered(200, 50, 2), clustered(200, 50, 3)
    exact = rows.astype(np.float64) @ others.T.astype(np.float64)
    eight = Int8Products(rows, others, 1e-3)
    cells = eight.of(slice(0, 200), slice(0, 200)).numpy()
    for product, cell in zip(exact.ravel().tolist(), cells.ravel().tolist(), strict=True):
        assert eight.lower_bound(cell) <= product and cell >= eight.least(product)
    spread = np.abs(exact - cells * eight._s * eight._t).max()
    assert 0 < spread < eight._error < 20 * spread


def test_pairs_of_rows_with_other_rows_equal_brute_force_by_eight_bits(small_blocks: None, of_eight_bits: None) -> None:
    rows, others = clustered(120, 30, 4), clustered(120, 30, 5)
    products = np.round(rows.astype(np.float64) @ others.T.astype(np.float64), 9)

    def exact(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return products[a, b]

    left, right = np.triu_indices(120, 1)
    order = np.lexsort((right, left, -products[left, right]))[:30]
    for eight in (True, False):
        found = paraphrase_mining.top_pairs(rows, others, exact, 30, margin=1e-2, highest=1e9, use_int8=eight)
        assert [(pair.a, pair.b) for pair in found] == list(zip(left[order].tolist(), right[order].tolist(), strict=True))


def test_progress_counts_pairs_and_work_ends_between_tiles(small_blocks: None) -> None:
    told: list[tuple[int, int]] = []
    vectors = np.random.default_rng(7).normal(size=(100, 20)).astype(np.float32)
    most_similar_pairs(vectors, 5, lambda done, total: told.append((done, total)))
    assert told[-1] == (4950, 4950) and len(told) == 7
    assert told[0] == (16 * (2 * 100 - 16 - 1) // 2, 4950)
    asked = iter([False] * 9 + [True] * 100)
    told.clear()
    with pytest.raises(StoppedError), stoppable(lambda: next(asked)):
        most_similar_pairs(vectors, 5, lambda done, total: told.append((done, total)))
    assert len(told) == 1


def test_pairs_of_lists_are_exact_but_for_those_that_share_none_and_recall_says_how_many_do(small_blocks: None) -> None:
    vectors = clustered(600, 24, 8)
    expected = {(pair.a, pair.b): pair.score for pair in most_similar_pairs(vectors, 60)}
    told: list[tuple[int, int]] = []
    found, recall = approximate_paraphrase_mining(vectors, 60, lambda done, total: told.append((done, total)))
    pairs = [(pair.a, pair.b) for pair in found]
    assert len(set(pairs)) == len(pairs) == 60
    assert sum(expected.get((pair.a, pair.b)) == pair.score for pair in found) >= 57
    assert [(-pair.score, pair.a, pair.b) for pair in found] == sorted((-pair.score, pair.a, pair.b) for pair in found)
    assert 0.9 < recall.share <= 1 and recall.pairs == 1000 and recall.rows == 600
    assert told[-1][0] == told[-1][1] > 360_000 and [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[0][0] == 600 * 24 and abs(told[0][1] / told[-1][1] - 1) < 0.5


def test_recall_is_the_share_of_the_closest_pairs_that_lists_hold() -> None:
    vectors = clustered(300, 24, 9)
    rows = UnitRows(vectors)
    cosines = np.asarray(rows[:] @ rows[:].T, np.float64)
    np.fill_diagonal(cosines, -2)
    near = np.argsort(-cosines, axis=1)[:, :4]
    lists = np.random.default_rng(1).integers(0, 6, (300, 1))
    best = {(min(a, b), max(a, b)): cosines[a, b] for a in range(300) for b in near[a].tolist()}
    recall = approximate_mining._recall(rows, lists, lambda done, total: None)
    assert 300 <= recall.pairs == len(best) < 1000
    assert recall.cosine == pytest.approx(min(best.values()), abs=1e-5)
    assert recall.share == pytest.approx(np.mean([lists[a, 0] == lists[b, 0] for a, b in best]), abs=0.02)
    assert 0.05 < recall.share < 0.5


@pytest.mark.parametrize("eight", [True, False])
@pytest.mark.parametrize("top", [1, 40, 900])
def test_tiles_that_several_threads_multiply_give_the_same_pairs(
    top: int, eight: bool, small_blocks: None, of_eight_bits: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paraphrase_mining, "_FEW", 0)
    monkeypatch.setattr("torch.get_num_threads", lambda: 3)
    check(clustered(200, 30, top), top, eight=eight)
    vectors, before = np.random.default_rng(1).normal(size=(150, 20)).astype(np.float32), threading.active_count()
    asked = iter([False] * 20 + [True] * 1000)
    with pytest.raises(StoppedError), stoppable(lambda: next(asked)):
        most_similar_pairs(vectors, 5, use_int8=False)
    assert threading.active_count() == before  # nobody is left at work
