"""TF-IDF, the baseline of word counts, brought to few components by a truncated SVD: latent semantic analysis (Deerwester et al. 1990).

A text's vector is its row of TF-IDF times V, the first right singular vectors of the whole matrix. That product is the sum, over the
words of the text, of their row of V times their inverse document frequency: so the baseline is a table of words like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.progress import Progress, checkpoint
from ..errors import StudioError
from ..registry import setting
from .base import LEARNERS, SEED, Learner, VocabularyParams
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
