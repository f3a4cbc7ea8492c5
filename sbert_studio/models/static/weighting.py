"""Word weights for averaging (IDF, frequency, SIF) and TF-IDF with a truncated SVD."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import StudioError
from ...progress import Progress, checkpoint
from ...registry import setting
from .learners import LEARNERS, SEED, Learner, VocabularyParams
from .tokens import WordTokens
from .vectors import WordVectors


@LEARNERS.register("tfidf")
class TfIdf(Learner):
    """The vector of a word is its inverse document frequency times its row of V, so the sum of a text's words is its row of TF-IDF · V."""

    title = "TF-IDF with SVD"
    summary = "Counts words and weighs down the common ones, without learning what they mean: the baseline."
    unit = "products"
    weighted = True

    @dataclass(frozen=True)
    class Params(VocabularyParams):
        """Those of the singular value decomposition, and the words."""

        dim: int = setting(300, "Components of a vector; fewer where there are fewer texts or words.", min=1, max=2000)

    def learn(self, texts: Sequence[str], seed: int = SEED, progress: Progress | None = None) -> WordVectors:
        """``progress`` is told how many products of the matrix with a vector were taken, of a number that is not known.

        Raises:
            StudioError: fewer than two words, or fewer than two texts with one of them.
        """
        vocabulary = self.vocabulary(texts)
        counts, idf = weighted_counts(WordTokens(vocabulary.words), texts)
        if min(counts.shape) < 2:
            raise StudioError("TF-IDF needs two texts and two words at least", "give more texts, or keep rarer words")
        directions = right_singular(counts, min(self.params.dim, min(counts.shape) - 1), seed, progress)
        return WordVectors(vocabulary.words, np.asarray(directions * idf[:, None], np.float32), vocabulary.counts, self.name)


def weighted_counts(words: WordTokens, texts: Sequence[str]) -> tuple[Any, np.ndarray]:
    """The TF-IDF of texts with a known word, and the inverse document frequencies ln((1 + n) / (1 + df)) + 1 of n texts.

    As scikit-learn's ``TfidfVectorizer`` has it without options: counts times idf, rows of length 1.

    Returns:
        A scipy ``csr_array`` (texts with a known word, V) float64; (V,) float64.
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


def right_singular(matrix: Any, k: int, seed: int = SEED, progress: Progress | None = None) -> np.ndarray:
    """The first ``k`` right singular vectors of a sparse (n, V) matrix, (V, k) float64, by ARPACK's Lanczos iteration.

    Each is signed so that its largest component is positive.

    Args:
        k: below both n and V.

    Raises:
        StoppedError: somebody wishes that it end.
    """
    from scipy.sparse.linalg import LinearOperator, svds

    taken = 0

    def told(product: Any) -> Any:
        def take(vector: np.ndarray) -> np.ndarray:
            nonlocal taken
            checkpoint()
            taken += 1
            if progress is not None:
                progress(taken, 0)
            return np.asarray(product @ vector)

        return take

    operator = LinearOperator(matrix.shape, matvec=told(matrix), rmatvec=told(matrix.T.tocsr()), dtype=np.float64)
    start = np.random.default_rng(seed).uniform(-1, 1, min(matrix.shape))
    _, values, directions = svds(operator, k=k, v0=start)
    directions = directions[np.argsort(-values, kind="stable")].T
    signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(k)])
    return np.asarray(directions * np.where(signs == 0, 1, signs))


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
