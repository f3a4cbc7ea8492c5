"""Explanations of a cosine, and pairs worth labelling."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from sbert_studio.explore import products
from sbert_studio.explore.explain import ScoreDistribution, align_words, random_pair_cosines, sample_texts
from sbert_studio.explore.pair_suggestions import decision_boundary, disputed_pairs, sample_rows, uncertain_pairs
from sbert_studio.models.word_encoder import TokenStates


def states(random: np.random.Generator, owner: list[int], sums: bool = True) -> TokenStates:
    words = max(owner) + 1
    spans = tuple((3 * word, 3 * word + 2) for word in range(words))
    return TokenStates(spans, random.normal(size=(len(owner), 6)), random.uniform(0, 2, len(owner)), np.array(owner, np.int64), sums)


def test_the_parts_of_words_and_of_marks_add_up_to_the_cosine() -> None:
    random = np.random.default_rng(4)
    a, b = states(random, [-1, 0, 1, 1, 2, -1]), states(random, [-1, 0, 0, 1, -1])
    found = align_words(a, b)
    assert found is not None and found.parts is not None and found.parts.shape == (3, 2)
    u, v = a.weights @ a.vectors, b.weights @ b.vectors
    assert found.cosine == pytest.approx(float(u @ v / np.linalg.norm(u) / np.linalg.norm(v)))
    naive = np.zeros((3, 2))
    for i, word in enumerate(a.owner):
        for j, other in enumerate(b.owner):
            if word >= 0 and other >= 0:
                naive[word, other] += a.weights[i] * b.weights[j] * (a.vectors[i] @ b.vectors[j]) / np.linalg.norm(u) / np.linalg.norm(v)
    np.testing.assert_allclose(found.parts, naive, atol=1e-12)


def test_words_are_matched_by_the_means_of_their_tokens_both_ways() -> None:
    random = np.random.default_rng(5)
    a, b = states(random, [0, 1, 1], sums=False), states(random, [0, 1, 2, 2], sums=False)
    found = align_words(a, b)
    assert found is not None and found.parts is None and found.cosine is None
    left = np.stack([a.vectors[0], a.vectors[1:].mean(axis=0)])
    right = np.stack([b.vectors[0], b.vectors[1], b.vectors[2:].mean(axis=0)])
    cosines = np.array([[u @ v / np.linalg.norm(u) / np.linalg.norm(v) for v in right] for u in left])
    np.testing.assert_allclose(found.alike, cosines, atol=1e-6)
    assert [one.tolist() for one in found.partners] == [cosines.argmax(axis=1).tolist(), cosines.argmax(axis=0).tolist()]
    recall, precision, together = found.match
    assert (recall, precision) == pytest.approx((cosines.max(axis=1).mean(), cosines.max(axis=0).mean()), abs=1e-6)
    assert together == pytest.approx(2 * recall * precision / (recall + precision))
    random = np.random.default_rng(6)
    none = TokenStates((), random.normal(size=(1, 6)), np.ones(1), np.array([-1]), True)
    assert align_words(none, states(random, [0])) is None


def test_usual_cosines_are_those_of_every_pair_and_their_quantiles() -> None:
    vectors = np.random.default_rng(0).normal(size=(30, 5))
    found = random_pair_cosines(vectors)
    expected = sorted(float(u @ v / np.linalg.norm(u) / np.linalg.norm(v)) for place, u in enumerate(vectors) for v in vectors[place + 1 :])
    assert len(found) == 30 * 29 // 2
    np.testing.assert_allclose(found, expected, atol=1e-6)
    usual = ScoreDistribution(np.array([0, 0.1, 0.1, 0.9], np.float32), "x")
    assert usual.bins(0, 1, 2) == [1.0, pytest.approx(1 / 3)]
    assert usual.quantile(0.5) == pytest.approx(0.1)
    assert usual.share(0.1) == 0.25 and usual.share(-1) == 0 and usual.share(1) == 1


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (0, "0 of 100"),
        (8_500, "85 of 100"),
        (9_900, "99 of 100"),
        (9_980, "998 of 1,000"),
        (9_999, "9,999 of 10,000"),
        (20_000, "all 10,000"),
    ],
)
def test_a_cosine_is_told_as_how_many_random_pairs_are_less_alike(place: int, words: str) -> None:
    usual = ScoreDistribution(np.linspace(0, 0.9999, 10_000).astype(np.float32), "x")
    assert usual.odds(float(usual.cosines[place]) if place < 10_000 else 1.0) == words


def test_samples_hold_different_texts_and_always_the_same() -> None:
    texts = [f"text {number % 500}" for number in range(1_000)]
    found = sample_texts(texts, 40)
    assert len(set(found)) == 40 and found == sample_texts(texts, 40)
    assert sample_texts(["a", "b", "a"]) == ["a", "b"]
    assert sample_rows(["b", "a", "A ", "c", "b"]).tolist() == [0, 1, 3]
    assert len(sample_rows([str(number) for number in range(100)], 30)) == 30


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


def test_one_text_on_which_all_is_contested_leaves_room_for_others() -> None:
    rng = np.random.default_rng(5)
    one = rng.normal(size=(300, 8)).astype(np.float32)
    other = one + rng.normal(scale=0.05, size=one.shape).astype(np.float32)
    other[9] = -other[9]
    found = disputed_pairs(one, other, lambda cosines: (cosines + 1) / 2, lambda cosines: (cosines + 1) / 2, 5)
    assert len(found) == 5 and sum(9 in pair[:2] for pair in found) == 2
