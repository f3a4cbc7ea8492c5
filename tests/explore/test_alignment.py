from __future__ import annotations

import numpy as np
import pytest

from sbert_studio.explore.explain import align_words
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
