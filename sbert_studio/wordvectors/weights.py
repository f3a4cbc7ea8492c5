"""How much each word counts in the mean of a text, and the direction that all texts have in common."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import StudioError
from .vectors import WordVectors

WEIGHTINGS = ("plain", "tfidf", "sif")
SIF_A = 1e-3


def weighting_named(name: str) -> str:
    """The name of a weighting, if there is one of that name.

    Raises:
        StudioError: there is none.
    """
    if name not in WEIGHTINGS:
        raise StudioError(f"there is no weighting {name!r}", f"choose one of {', '.join(WEIGHTINGS)}")
    return name


def word_weights(weighting: str, vectors: WordVectors, texts: Sequence[str] | None = None, a: float = SIF_A) -> np.ndarray:
    """A weight for each word, (V,) float32 above 0, by a name of :data:`WEIGHTINGS`.

    Args:
        texts: those of the training, to which the inverse document frequencies are fitted.
        a: of SIF.

    Raises:
        StudioError: the name is unknown, or ``tfidf`` is given no texts.
    """
    if weighting_named(weighting) == "plain":
        return np.ones(len(vectors), np.float32)
    if weighting == "sif":
        return sif(frequencies(vectors), a)
    if not texts:
        raise StudioError("TF-IDF weights need texts to be fitted to", "give training texts, or choose sif or plain")
    return idf(vectors, texts)


def idf(vectors: WordVectors, texts: Sequence[str]) -> np.ndarray:
    """ln((1 + n) / (1 + df)) + 1 for n texts, of which df hold the word, (V,) float32.

    A mean over all tokens with these weights is a mean by TF-IDF: a word that stands twice is added twice. Words of the
    table that no text holds weigh the most.
    """
    ids, starts = vectors.tokens.flat(texts)
    text_of = np.repeat(np.arange(len(texts), dtype=np.int64), np.diff(starts))
    once = np.unique(text_of * len(vectors) + ids) % len(vectors)
    holding = np.bincount(once, minlength=len(vectors))
    return np.asarray(np.log((1 + len(texts)) / (1 + holding)) + 1, np.float32)


def frequencies(vectors: WordVectors, texts: Sequence[str] | None = None) -> np.ndarray:
    """p(w), (V,) float64 that sum to 1: from ``texts``, else from the table's counts, else by Zipf's law.

    Tables that others learned seldom tell counts, but hold the commonest words first: the r-th of them is taken to occur in
    proportion to 1 / r (Zipf 1949).
    """
    counts = vectors.counts
    if texts is not None:
        counts = np.bincount(vectors.tokens.flat(texts)[0], minlength=len(vectors))
    if counts is None:
        counts = 1 / np.arange(1, len(vectors) + 1)
    return np.asarray(counts / max(counts.sum(), np.finfo(float).tiny), np.float64)


def sif(frequency: np.ndarray, a: float = SIF_A) -> np.ndarray:
    """a / (a + p(w)), (V,) float32: smooth inverse frequency (Arora et al. 2017, equation 3)."""
    return np.asarray(a / (a + frequency), np.float32)


def common_component(vectors: np.ndarray, count: int = 1) -> np.ndarray:
    """The first ``count`` right singular vectors of the vectors of texts (Arora et al. 2017, algorithm 1, line 4).

    Nothing is centred. The paper sums a text's weighted words and divides by their number; dividing by the sum of the weights
    instead gives a text's vector another length, not another direction.

    Args:
        vectors: (n, d), of training texts alone.

    Returns:
        (d, k) float64 with orthonormal columns; k is below ``count`` where the vectors span no more.
    """
    rows = np.asarray(vectors, np.float64)
    values, directions = np.linalg.eigh(rows.T @ rows)
    kept = values > max(values[-1], 0) * len(values) * np.finfo(np.float64).eps
    return np.asarray(directions[:, kept][:, ::-1][:, :count])


def removal(components: np.ndarray, mean: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The affine map v → (I − C Cᵀ)(v − mean) that takes the components C away: its matrix (d, d) and bias (d,), both float32.

    Args:
        components: (d, k) with orthonormal columns.
        mean: (d,), subtracted first, as Mu and Viswanath (2018) do; None: nothing is, as Arora et al. (2017), algorithm 1, line 6.
    """
    components = np.asarray(components, np.float64)
    matrix = np.eye(len(components)) - components @ components.T
    bias = np.zeros(len(matrix)) if mean is None else -matrix @ np.asarray(mean, np.float64)
    return matrix.astype(np.float32), bias.astype(np.float32)
