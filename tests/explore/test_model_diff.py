"""What changed from one space to another, against plain loops."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes

from sbert_studio.explore import model_diff
from sbert_studio.explore.model_diff import align_points, compare_confusions, compare_neighbors, most_changed_pairs
from sbert_studio.models.similarity import unit
from sbert_studio.progress import StoppedError, stoppable


@pytest.fixture
def spaces() -> tuple[np.ndarray, np.ndarray]:
    """90 texts in 12 and in 20 dimensions; in the second the first thirty lie elsewhere."""
    rng = np.random.default_rng(5)
    before = rng.normal(size=(90, 12)).astype(np.float32)
    turn = np.linalg.qr(rng.normal(size=(20, 12)))[0]
    after = (before @ turn.T).astype(np.float32)
    after[:30] += rng.normal(scale=1.5, size=(30, 20)).astype(np.float32)
    return before, after


def test_maps_fall_on_the_first_one_as_scipy_turns_them() -> None:
    points = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32) * (3, 1)
    mirrored = points @ np.array([[0.6, 0.8], [0.8, -0.6]]) * 7 + (100, -4)
    np.testing.assert_allclose(align_points(mirrored, points), points, atol=1e-4)
    rng = np.random.default_rng(1)
    points, other = rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) * 5 + 2
    found = align_points(points, other)
    centred = [each - each.mean(axis=0) for each in (points, other)]
    turn, _ = orthogonal_procrustes(centred[0] / np.linalg.norm(centred[0]), centred[1] / np.linalg.norm(centred[1]))
    expected = centred[0] @ turn * np.linalg.norm(centred[1]) / np.linalg.norm(centred[0]) + other.mean(axis=0)
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    assert np.linalg.norm(found - found.mean(axis=0)) == pytest.approx(np.linalg.norm(centred[1]), rel=1e-5)
    assert np.isfinite(align_points(np.zeros((4, 2)), other[:4])).all()


def test_neighbours_lost_and_gained_equal_a_plain_loop(spaces: tuple[np.ndarray, np.ndarray]) -> None:
    found = compare_neighbors(*spaces, 7)
    cosines = [unit(space).astype(np.float64) @ unit(space).T for space in spaces]
    for row in range(90):
        lists = [sorted((other for other in range(90) if other != row), key=lambda other: -own[row, other])[:7] for own in cosines]
        assert found.before[row].tolist() == lists[0] and found.after[row].tolist() == lists[1]
        assert {int(one) for one in found.before[row][found.lost[row]]} == set(lists[0]) - set(lists[1])
        assert {int(one) for one in found.after[row][found.gained[row]]} == set(lists[1]) - set(lists[0])
        assert found.moved[row] == pytest.approx(len(set(lists[0]) - set(lists[1])) / 7)
    assert found.moved[:30].mean() > 2 * found.moved[30:].mean(), "those that were laid elsewhere moved most"


def test_a_turned_and_stretched_space_and_copies_in_another_order_are_no_change() -> None:
    rng = np.random.default_rng(2)
    vectors = np.repeat(rng.normal(size=(6, 8)), 8, axis=0).astype(np.float32)  # eight copies of six texts, of which five are looked at
    turned = (vectors @ np.linalg.qr(rng.normal(size=(8, 8)))[0] * 9).astype(np.float32)
    found = compare_neighbors(vectors, turned, 5)
    assert not found.moved.any() and not found.gained.any()
    assert all(row not in found.before[row] for row in range(48))
    few = compare_neighbors(vectors[:3] + rng.normal(size=(3, 8)).astype(np.float32), turned[:3], 10)
    assert few.before.shape == (3, 2), "of three texts there are two others"


def test_pairs_that_changed_most_equal_a_plain_loop(spaces: tuple[np.ndarray, np.ndarray]) -> None:
    closer, apart = most_changed_pairs(*spaces, 12)
    cosines = [unit(space).astype(np.float64) @ unit(space).astype(np.float64).T for space in spaces]
    for found, sign in ((closer, 1), (apart, -1)):
        order = sorted(combinations(range(90), 2), key=lambda pair: -sign * (cosines[1][pair] - cosines[0][pair]))
        expected: list[tuple[int, int]] = []
        for pair in order:
            if len(expected) < 12 and all(sum(row in one for one in expected) < 2 for row in pair):
                expected.append(pair)
        assert [(one.a, one.b) for one in found] == expected
        for one in found:
            assert (one.before, one.after) == pytest.approx((cosines[0][one.a, one.b], cosines[1][one.a, one.b]), abs=1e-6)
    assert all(one.change > 0 for one in closer) and all(one.change < 0 for one in apart)


def test_one_text_that_moved_far_does_not_hide_the_others() -> None:
    rng = np.random.default_rng(4)
    before = rng.normal(size=(200, 16)).astype(np.float32)
    after = before + rng.normal(scale=0.05, size=before.shape).astype(np.float32)
    after[7] = -after[7]  # its pairs with all others change most
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model_diff, "_AMONG", 40)
        narrow = most_changed_pairs(before, after, 10)
    assert narrow == most_changed_pairs(before, after, 10)
    assert all(len(found) == 10 for found in narrow)


def test_no_pair_changed_where_spaces_agree_and_work_ends_when_asked() -> None:
    vectors = np.random.default_rng(3).normal(size=(20, 6)).astype(np.float32)
    assert most_changed_pairs(vectors, vectors * 3) == ([], [])
    vectors = np.random.default_rng(3).normal(size=(20, 6)).astype(np.float32)
    for work in (compare_neighbors, most_changed_pairs):
        with pytest.raises(StoppedError), stoppable(lambda: True):
            work(vectors, vectors)


def test_confusion_that_went_away_stands_first_and_names_its_texts() -> None:
    truth = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    before = np.array([1, 1, 0, 0, 1, 1, 2, -1])
    after = np.array([0, 1, 0, 1, 1, 2, 2, 1])
    found = compare_confusions(truth, before, after, ["card", "loan", "rain"])
    assert [(one.categories, one.before, one.after) for one in found] == [(("card", "loan"), 3, 1), (("loan", "rain"), 0, 2)]
    assert (found[0].resolved, found[0].introduced) == ((0, 3), ()) and found[1].introduced == (5, 7)
