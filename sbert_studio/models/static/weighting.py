"""Word weights for averaging (IDF, frequency, SIF) and TF-IDF with a truncated SVD."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import StudioError
from ...i18n import _
from ...progress import Progress, checkpoint
from ...registry import setting
from .learners import LEARNERS, SEED, Learner, VocabularyParams
from .tokens import WordTokens
from .vectors import WordVectors

WEIGHTINGS = ("plain", "tfidf", "sif")
SIF_A = 1e-3


@LEARNERS.register("tfidf")
class TfIdf(Learner):
    """TF-IDF learner; the vector of a word is its IDF times its row of V, so that the sum over a text's words is its row of TF-IDF · V."""

    title = "TF-IDF with SVD"
    summary = "Counts words and downweights frequent ones, without learning their meaning; a baseline."
    unit = "products"
    weighted = True

    @dataclass(frozen=True)
    class Params(VocabularyParams):
        """Settings of the singular value decomposition."""

        dim: int = setting(300, "Number of vector components; reduced if there are fewer texts or words.", min=1, max=2000)

    def learn(self, texts: Sequence[str], seed: int = SEED, progress: Progress | None = None) -> WordVectors:
        """Factorize the TF-IDF matrix; ``progress`` is called with the number of matrix-vector products and an unknown total."""
        vocabulary = self.vocabulary(texts)
        counts, idf = tfidf_matrix(WordTokens(vocabulary.words), texts)
        if min(counts.shape) < 2:
            raise StudioError("TF-IDF needs at least two texts and two words", "use more texts, or keep rarer words")
        directions = right_singular_vectors(counts, min(self.params.dim, min(counts.shape) - 1), seed, progress)
        return WordVectors(vocabulary.words, np.asarray(directions * idf[:, None], np.float32), vocabulary.counts, self.name)


def tfidf_matrix(words: WordTokens, texts: Sequence[str]) -> tuple[Any, np.ndarray]:
    """Return the TF-IDF of texts with a known word, and the inverse document frequencies ln((1 + n) / (1 + df)) + 1 of n texts.

    Like scikit-learn's ``TfidfVectorizer`` with its defaults: counts times IDF, rows of length 1. A scipy ``csr_array`` (texts with a
    known word, V) float64, and (V,) float64.
    """
    from scipy.sparse import csr_array

    ids, starts = words.flat(texts)
    counts = csr_array((np.ones(len(ids)), ids, starts), shape=(len(texts), len(words)))
    counts.sum_duplicates()
    holding = np.bincount(counts.indices, minlength=len(words))
    idf = np.log((1 + len(texts)) / (1 + holding)) + 1
    counts.data *= idf[counts.indices]
    lengths = np.sqrt(np.asarray((counts * counts).sum(axis=1)).ravel())
    rows = np.flatnonzero(lengths)
    counts.data /= np.repeat(lengths, np.diff(counts.indptr))
    return counts[rows], idf


def right_singular_vectors(matrix: Any, k: int, seed: int = SEED, progress: Progress | None = None) -> np.ndarray:
    """Return the first ``k`` right singular vectors of a sparse (n, V) matrix, (V, k) float64, with ARPACK's Lanczos iteration.

    ``k`` is below both n and V. The largest component of each vector is positive.
    """
    from scipy.sparse.linalg import LinearOperator, svds

    taken = 0

    def counted(product: Any) -> Any:
        def take(vector: np.ndarray) -> np.ndarray:
            nonlocal taken
            checkpoint()
            taken += 1
            if progress is not None:
                progress(taken, 0)
            return np.asarray(product @ vector)

        return take

    operator = LinearOperator(matrix.shape, matvec=counted(matrix), rmatvec=counted(matrix.T.tocsr()), dtype=np.float64)
    start = np.random.default_rng(seed).uniform(-1, 1, min(matrix.shape))
    _, values, directions = svds(operator, k=k, v0=start)
    directions = directions[np.argsort(-values, kind="stable")].T
    signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(k)])
    return np.asarray(directions * np.where(signs == 0, 1, signs))


def require_weighting(name: str) -> str:
    """Return ``name`` unchanged.

    Raises:
        StudioError: it is not a known weighting.
    """
    if name not in WEIGHTINGS:
        raise StudioError(
            _("there is no weighting {name}", name=repr(name)), _("choose one of {weightings}", weightings=", ".join(WEIGHTINGS))
        )
    return name


def word_weights(weighting: str, vectors: WordVectors, texts: Sequence[str] | None = None, a: float = SIF_A) -> np.ndarray:
    """Return a weight for each word, (V,) float32 above 0: 1, SIF with the parameter ``a``, or IDF fitted to the training ``texts``."""
    if require_weighting(weighting) == "plain":
        return np.ones(len(vectors), np.float32)
    if weighting == "sif":
        return sif(frequencies(vectors), a)
    if not texts:
        raise StudioError("TF-IDF weights must be fitted to texts", "use training texts, or choose sif or plain")
    return idf(vectors, texts)


def idf(vectors: WordVectors, texts: Sequence[str]) -> np.ndarray:
    """Return ln((1 + n) / (1 + df)) + 1 for n texts, of which df contain the word, (V,) float32.

    A mean of all tokens with these weights is a TF-IDF-weighted mean. Words in no text get the largest weight.
    """
    ids, starts = vectors.tokens.flat(texts)
    text_of = np.repeat(np.arange(len(texts), dtype=np.int64), np.diff(starts))
    once = np.unique(text_of * len(vectors) + ids) % len(vectors)
    holding = np.bincount(once, minlength=len(vectors))
    return np.asarray(np.log((1 + len(texts)) / (1 + holding)) + 1, np.float32)


def frequencies(vectors: WordVectors, texts: Sequence[str] | None = None) -> np.ndarray:
    """Return p(w), (V,) float64 that sum to 1: from ``texts``, else from the table's counts, else by Zipf's law.

    Published tables rarely have counts, but list the most frequent words first: rank r gets a probability proportional to 1 / r (Zipf
    1949).
    """
    counts = vectors.counts
    if texts is not None:
        counts = np.bincount(vectors.tokens.flat(texts)[0], minlength=len(vectors))
    if counts is None:
        counts = 1 / np.arange(1, len(vectors) + 1)
    return np.asarray(counts / max(counts.sum(), np.finfo(float).tiny), np.float64)


def sif(frequency: np.ndarray, a: float = SIF_A) -> np.ndarray:
    """Return a / (a + p(w)), (V,) float32: smooth inverse frequency (Arora et al. 2017, equation 3)."""
    return np.asarray(a / (a + frequency), np.float32)


def common_components(vectors: np.ndarray, count: int = 1) -> np.ndarray:
    """Return the first ``count`` right singular vectors of the texts' vectors (Arora et al. 2017, algorithm 1, line 4), not centered.

    The paper divides a text's weighted sum by the number of words; dividing by the sum of weights changes only its length.
    Returns (d, k) float64 with orthonormal columns for (n, d) vectors; k is below ``count`` if the vectors span fewer dimensions.
    """
    rows = np.asarray(vectors, np.float64)
    values, directions = np.linalg.eigh(rows.T @ rows)
    kept = values > max(values[-1], 0) * len(values) * np.finfo(np.float64).eps
    return np.asarray(directions[:, kept][:, ::-1][:, :count])


def removal_transform(components: np.ndarray, mean: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return matrix (d, d) and bias (d,), float32, of v → (I − C Cᵀ)(v − mean), which removes the components C.

    Args:
        components: (d, k) with orthonormal columns.
        mean: (d,), subtracted first as in Mu and Viswanath (2018); ``None`` as in Arora et al. (2017), algorithm 1, line 6.
    """
    components = np.asarray(components, np.float64)
    matrix = np.eye(len(components)) - components @ components.T
    bias = np.zeros(len(matrix)) if mean is None else -matrix @ np.asarray(mean, np.float64)
    return matrix.astype(np.float32), bias.astype(np.float32)
