from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import distance

from sbert_studio.errors import StudioError
from sbert_studio.evaluation import encoding
from sbert_studio.models.similarity import unit


def test_measures_equal_scipy_across_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "_BLOCK", 7)
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(2, 30, 5)).astype(np.float32)
    found = encoding.pairwise_measures(left, right)
    assert np.allclose(found["cosine"], [1 - distance.cosine(u, v) for u, v in zip(left, right, strict=True)], atol=1e-6)
    assert np.allclose(found["dot"], [u @ v for u, v in zip(left, right, strict=True)], atol=1e-5)
    assert np.allclose(found["euclidean"], [distance.euclidean(u, v) for u, v in zip(left, right, strict=True)], atol=1e-6)
    assert np.allclose(found["manhattan"], [distance.cityblock(u, v) for u, v in zip(left, right, strict=True)], atol=1e-6)


def test_a_zero_vector_has_cosine_zero_and_stays_zero_when_normalised() -> None:
    zero, one = np.zeros((1, 3), np.float32), np.ones((1, 3), np.float32)
    assert encoding.pairwise_measures(zero, one)["cosine"].tolist() == [0.0]
    assert unit(zero).tolist() == [[0.0, 0.0, 0.0]]
    assert np.linalg.norm(unit(one)) == pytest.approx(1)


def test_similarities_grow_with_likeness_for_every_measure() -> None:
    anchor = np.array([[1.0, 0.0], [1.0, 0.0]], np.float32)
    other = np.array([[0.9, 0.1], [-1.0, 0.5]], np.float32)
    for name, values in encoding.similarities(anchor, other).items():
        assert values[0] > values[1], name


def test_columns_are_encoded_in_one_call_and_split_again(encoder) -> None:
    left, right = encoding.encode_columns(encoder, [["a b", "c"], ["c", "d"]])
    assert len(encoder.calls) == 1
    assert left.shape == right.shape == (2, 64)
    assert np.array_equal(left[1], right[0])


def test_vectors_that_are_not_finite_are_refused(encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder, "encode", lambda texts, progress=None: np.full((len(texts), 2), np.nan, np.float32))
    with pytest.raises(StudioError, match="finite"):
        encoding.encode_columns(encoder, [["a"]])
