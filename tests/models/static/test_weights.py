"""Weights of words, the common component, and neighbours."""

from __future__ import annotations

import numpy as np
import pytest

from sbert_studio.errors import StudioError
from sbert_studio.models.static import WordVectors, common_component, neighbours, removal, word_weights
from sbert_studio.models.static.weighting import frequencies, sif


def _table(counts: np.ndarray | None = None) -> WordVectors:
    matrix = np.array([[1, 0], [2, 0.1], [0, 1], [0, 0]], np.float32)
    return WordVectors(("cat", "kitten", "car", "nothing"), matrix, counts, "small")


def test_inverse_document_frequencies_count_texts_and_weigh_unseen_words_most() -> None:
    found = word_weights("tfidf", _table(), ["Cat, cat!", "the cat and the car", "..."])
    expected = [np.log(4 / 3) + 1, np.log(4 / 1) + 1, np.log(4 / 2) + 1, np.log(4 / 1) + 1]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_frequencies_come_from_texts_or_counts_or_zipf() -> None:
    np.testing.assert_allclose(frequencies(_table()), np.array([12, 6, 4, 3]) / 25)
    counted = _table(np.array([1, 3, 4, 0]))
    np.testing.assert_allclose(frequencies(counted), [1 / 8, 3 / 8, 1 / 2, 0])
    np.testing.assert_allclose(frequencies(counted, ["car car", "cat dog"]), [1 / 3, 0, 2 / 3, 0])
    np.testing.assert_array_equal(frequencies(counted, ["dog"]), np.zeros(4))


def test_sif_is_equation_3() -> None:
    np.testing.assert_allclose(sif(np.array([0, 1e-3, 0.999])), [1, 0.5, 1e-3], rtol=1e-6)
    np.testing.assert_allclose(word_weights("sif", _table(), a=0.24), 0.24 / (0.24 + np.array([12, 6, 4, 3]) / 25), rtol=1e-6)
    np.testing.assert_array_equal(word_weights("plain", _table()), np.ones(4))


def test_an_unknown_weighting_and_idf_without_texts_are_told() -> None:
    with pytest.raises(StudioError, match="need texts"):
        word_weights("tfidf", _table())
    with pytest.raises(StudioError, match="no weighting 'bm25'"):
        word_weights("bm25", _table())


@pytest.mark.parametrize("count", [1, 3])
def test_the_common_component_is_the_first_singular_vector_and_is_removed(count: int) -> None:
    rng = np.random.default_rng(4)
    vectors = rng.normal(size=(200, 6)) * [5, 4, 3, 2, 1, 1] + 2
    components = common_component(vectors, count)
    plain = np.linalg.svd(vectors)[2][:count].T
    np.testing.assert_allclose(np.abs((components * plain).sum(axis=0)), np.ones(count), rtol=1e-9)
    matrix, bias = removal(components)
    without = vectors @ matrix.T + bias
    np.testing.assert_allclose(without @ components, 0, atol=1e-4)
    np.testing.assert_allclose(without, vectors - vectors @ plain @ plain.T, atol=1e-4)
    assert not bias.any()


def test_a_mean_is_subtracted_first() -> None:
    vectors = np.random.default_rng(5).normal(size=(50, 4)) + 3
    mean = vectors.mean(axis=0)
    components = common_component(vectors - mean)
    matrix, bias = removal(components, mean)
    np.testing.assert_allclose(vectors @ matrix.T + bias, (vectors - mean) @ (np.eye(4) - components @ components.T), atol=1e-5)


def test_no_more_components_than_the_vectors_span() -> None:
    assert common_component(np.zeros((5, 3))).shape == (3, 0)
    np.testing.assert_array_equal(removal(common_component(np.zeros((5, 3))))[0], np.eye(3))
    assert common_component(np.outer(np.arange(4.0), [1, 2, 2]), 2).shape == (3, 1)


def test_neighbours_stand_by_cosine() -> None:
    found = neighbours(_table(), "Cat!", 9)
    assert [word for word, _ in found] == ["kitten", "car", "nothing"]
    assert [cosine for _, cosine in found] == pytest.approx([2 / np.hypot(2, 0.1), 0, 0], abs=1e-6)
    assert len(neighbours(_table(), "car", 1)) == 1


def test_an_unknown_word_is_told_with_one_spelled_like_it() -> None:
    with pytest.raises(StudioError, match="'kiten'") as caught:
        neighbours(_table(), "kiten")
    assert "kitten" in caught.value.hint
