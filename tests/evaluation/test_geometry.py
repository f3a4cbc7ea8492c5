from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from sbert_studio.errors import StudioError
from sbert_studio.evaluation.tasks import geometry as space


@pytest.fixture
def vectors() -> np.ndarray:
    return np.random.default_rng(0).normal(0.3, 1, (40, 5)).astype(np.float32)


def normalized(vectors: np.ndarray) -> np.ndarray:
    return vectors.astype(np.float64) / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_all_three_are_those_of_a_loop_over_pairs(vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space, "_BLOCK", 300)
    pairs = list(combinations(normalized(vectors), 2))
    assert space.anisotropy(vectors).value == pytest.approx(np.mean([x @ y for x, y in pairs]), abs=1e-6)
    found = space.uniformity(vectors)
    assert found.value == pytest.approx(math.log(np.mean([math.exp(-2 * np.sum((x - y) ** 2)) for x, y in pairs])), abs=1e-5)
    assert (found.pairs, found.rows, found.exact) == (780, 40, True)
    other = vectors[::-1].copy()
    wanted = np.mean([np.sum((x - y) ** 2) for x, y in zip(normalized(vectors), normalized(other), strict=True)])
    assert space.alignment(vectors, other).value == pytest.approx(wanted, abs=1e-6)


def test_the_length_of_a_vector_is_nothing_and_rows_of_zeros_are_passed_over(vectors: np.ndarray) -> None:
    stretched = np.concatenate([vectors * np.arange(1, 41)[:, None], np.zeros((3, 5))]).astype(np.float32)
    assert space.anisotropy(stretched).value == pytest.approx(space.anisotropy(vectors).value, abs=1e-6)
    assert space.uniformity(stretched).rows == 40
    assert space.alignment(stretched, stretched).pairs == 40


def test_the_ends_of_the_scales() -> None:
    same, around = np.ones((10, 4)), np.concatenate([np.eye(4), -np.eye(4)])
    assert space.anisotropy(same).value == pytest.approx(1) and space.uniformity(same).value == pytest.approx(0, abs=1e-6)
    assert space.anisotropy(around).value == pytest.approx(-1 / 7)
    assert space.alignment(same, same).value == 0 and space.alignment(same, -same).value == pytest.approx(4)


def test_of_a_large_set_a_sample_is_drawn_that_says_how_large_it_is() -> None:
    many = np.random.default_rng(1).normal(size=(3000, 4)).astype(np.float32)
    drawn, whole = space.uniformity(many, most=500), space.uniformity(many)
    assert (drawn.rows, drawn.pairs, drawn.exact) == (500, 500 * 499 // 2, False)
    assert drawn.value != whole.value and drawn.value == pytest.approx(whole.value, abs=0.05)
    assert space.uniformity(many, most=500) == drawn


def test_nothing_to_compare_is_refused() -> None:
    with pytest.raises(StudioError, match="fewer than two"):
        space.anisotropy(np.zeros((5, 3)))
    with pytest.raises(StudioError, match="no positive pairs"):
        space.alignment(np.ones((2, 3)), np.zeros((2, 3)))
