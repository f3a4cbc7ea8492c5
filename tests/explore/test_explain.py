from __future__ import annotations

import numpy as np
import pytest

from sbert_studio.explore.explain import ScoreDistribution, align_words, random_pair_cosines, sample_texts
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


def test_a_text_without_a_word_that_is_read_has_no_alignment() -> None:
    random = np.random.default_rng(6)
    none = TokenStates((), random.normal(size=(1, 6)), np.ones(1), np.array([-1]), True)
    assert align_words(none, states(random, [0])) is None


def test_usual_cosines_are_those_of_every_pair() -> None:
    vectors = np.random.default_rng(0).normal(size=(30, 5))
    found = random_pair_cosines(vectors)
    expected = sorted(float(u @ v / np.linalg.norm(u) / np.linalg.norm(v)) for place, u in enumerate(vectors) for v in vectors[place + 1 :])
    assert len(found) == 30 * 29 // 2
    np.testing.assert_allclose(found, expected, atol=1e-6)


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


def test_a_histogram_and_quantiles_are_of_the_pairs() -> None:
    usual = ScoreDistribution(np.array([0, 0.1, 0.1, 0.9], np.float32), "x")
    assert usual.bins(0, 1, 2) == [1.0, pytest.approx(1 / 3)]
    assert usual.quantile(0.5) == pytest.approx(0.1)
    assert usual.share(0.1) == 0.25 and usual.share(-1) == 0 and usual.share(1) == 1


def test_texts_at_random_are_different_and_always_the_same() -> None:
    texts = [f"text {number % 500}" for number in range(1_000)]
    found = sample_texts(texts, 40)
    assert len(set(found)) == 40 and found == sample_texts(texts, 40)
    assert sample_texts(["a", "b", "a"]) == ["a", "b"]
