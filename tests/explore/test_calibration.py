from __future__ import annotations

import numpy as np
import pytest

from sbert_studio.explore.explain import ScoreDistribution, random_pair_cosines, sample_texts


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
