from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from sbert_studio.explore import products
from sbert_studio.explore.explain import ScoreDistribution, random_pair_cosines
from sbert_studio.explore.pair_suggestions import decision_boundary, disputed_pairs, sample_rows, uncertain_pairs


def cosines(vectors: np.ndarray) -> dict[tuple[int, int], float]:
    rows = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return {(a, b): float(rows[a] @ rows[b]) for a, b in combinations(range(len(rows)), 2)}


def test_the_pairs_nearest_to_a_threshold_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "_CELLS", 500)  # several blocks
    vectors = np.random.default_rng(0).normal(size=(60, 6)).astype(np.float32)
    every = cosines(vectors)
    (first, *_), known = uncertain_pairs(vectors, 0.3, 5), min(every, key=lambda pair: abs(every[pair] - 0.3))
    assert first[:2] == known and first[2] == pytest.approx(every[known], abs=1e-6)
    judged = {pair for pair, _ in sorted(every.items(), key=lambda item: abs(item[1] - 0.3))[:200]}
    assert len(uncertain_pairs(vectors, 0.3, 3, judged)) == 3, "however many were judged before"
    found = uncertain_pairs(vectors, 0.3, 30, {known})
    assert known not in {pair[:2] for pair in found} and len(found) == 30
    distances = [abs(cosine - 0.3) for _, _, cosine in found]
    assert distances == sorted(distances)
    rows = [row for a, b, _ in found for row in (a, b)]
    assert max(rows.count(row) for row in rows) == 2


def test_pairs_on_which_two_models_disagree_by_their_own_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "_CELLS", 500)
    random = np.random.default_rng(1)
    one, other = random.normal(size=(50, 6)).astype(np.float32), (random.normal(size=(50, 9)) + 3).astype(np.float32)
    usual, usual_other = ScoreDistribution(random_pair_cosines(one), "x"), ScoreDistribution(random_pair_cosines(other), "x")
    first, second = cosines(one), cosines(other)
    gaps = {pair: abs(usual.share(first[pair]) - usual_other.share(second[pair])) for pair in first}
    (a, b, cosine), *rest = disputed_pairs(one, other, usual.shares, usual_other.shares, 10)
    assert gaps[a, b] == pytest.approx(max(gaps.values()), abs=2e-3) and cosine == pytest.approx(first[a, b], abs=1e-6)
    assert min(gaps[pair[:2]] for pair in rest) > np.median(list(gaps.values()))


def test_the_boundary_makes_the_fewest_mistakes() -> None:
    random = np.random.default_rng(2)
    scores, together = random.normal(size=80), random.random(80) < 0.5
    scores[together] += 1.5
    line = decision_boundary(scores, together)
    assert line is not None
    mistakes = {place: ((scores >= place) != together).sum() for place in np.sort(scores)}
    assert ((scores >= line) != together).sum() <= min(mistakes.values())
    assert decision_boundary(np.arange(6.0), np.array([False, False, False, True, True, True])) is None
    assert decision_boundary(np.arange(8.0), np.arange(8) >= 4) == 3.5


def test_texts_that_differ_in_capitals_alone_are_looked_at_once() -> None:
    assert sample_rows(["b", "a", "A ", "c", "b"]).tolist() == [0, 1, 3]
    assert len(sample_rows([str(number) for number in range(100)], 30)) == 30


def test_one_text_on_which_all_is_contested_leaves_room_for_others() -> None:
    rng = np.random.default_rng(5)
    one = rng.normal(size=(300, 8)).astype(np.float32)
    other = one + rng.normal(scale=0.05, size=one.shape).astype(np.float32)
    other[9] = -other[9]
    found = disputed_pairs(one, other, lambda cosines: (cosines + 1) / 2, lambda cosines: (cosines + 1) / 2, 5)
    assert len(found) == 5 and sum(9 in pair[:2] for pair in found) == 2
