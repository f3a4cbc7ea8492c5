"""GloVe (Pennington et al. 2014): word vectors from co-occurrence counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import StudioError
from ...progress import Progress, checkpoint
from ...registry import setting
from .learners import LEARNERS, SEED, Learner, LearnerParams
from .tokens import WordTokens
from .vectors import WordVectors

_BLOCK_PAIRS = 2_000_000  # word pairs per block: about 100 MB
_MAX_CELLS = 50_000_000  # cells of the matrix: about 2 GB including training
_MIN_STEP_CELLS = 4096
_STEPS_PER_EPOCH = 200  # maximum, unless the number of steps would exceed the next constant
_MAX_STEP_CELLS = 65_536
# Initial value of AdaGrad's sums of squares. The authors' program starts with 1, which dwarfs the gradients of a small corpus, whose f(X)
# are far below 1.
_FIRST_SQUARE = 0.1


def cooccurrences(ids: np.ndarray, starts: np.ndarray, size: int, window: int = 10, progress: Progress | None = None) -> Any:
    """Return X, where X_ij sums 1 / distance over all pairs of words i and j at most ``window`` words apart in one text.

    Pennington et al. 2014, sections 3 and 4.2; only known words count toward the distance. Words are processed in blocks, so that peak
    memory is about twice that of the matrix.

    Args:
        ids: (n,) int32 word ids, text after text.
        starts: (texts + 1,) start of each text in ``ids``.
        size: V; the result is a symmetric scipy ``csr_array`` (V, V) float64 with sorted rows.
    """
    from scipy.sparse import coo_array, csr_array

    text_of = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
    step = max(1, _BLOCK_PAIRS // window)
    parts = [csr_array((size, size), dtype=np.float64)]
    for begin in range(0, len(ids), step):
        checkpoint()
        end = min(len(ids), begin + step)
        rows, columns, weights = [], [], []
        for distance in range(1, window + 1):
            # A pair belongs to the block of its first word; the second word may be in the next block.
            last = min(end, len(ids) - distance)
            if last <= begin:
                break
            same = text_of[begin:last] == text_of[begin + distance : last + distance]
            rows.append(ids[begin:last][same])
            columns.append(ids[begin + distance : last + distance][same])
            weights.append(np.full(len(rows[-1]), 1 / distance))
        if rows:
            cells = (np.concatenate(rows), np.concatenate(columns))
            parts.append(coo_array((np.concatenate(weights), cells), shape=(size, size)).tocsr())
        # Sums of similar size are merged, so that the whole is not copied for every block.
        while len(parts) > 1 and parts[-2].nnz <= 2 * parts[-1].nnz:
            smaller = parts.pop()
            parts[-1] = parts[-1] + smaller
        if 2 * parts[0].nnz > _MAX_CELLS:
            raise StudioError("there are too many word pairs to count", "keep fewer words, or choose a smaller window")
        if progress is not None:
            progress(end, len(ids))
    total = sum(parts[1:], parts[0])
    symmetric = csr_array(total + total.T)
    symmetric.sort_indices()
    return symmetric


@dataclass(frozen=True)
class Factors:
    """The parameters: w and w~ (V, d), b and b~ (V,)."""

    words: np.ndarray
    contexts: np.ndarray
    word_bias: np.ndarray
    context_bias: np.ndarray

    @classmethod
    def draw(cls, size: int, width: int, seed: int) -> Factors:
        """Draw all parameters uniformly from ± 0.5 / (d + 1), in float32."""
        rng = np.random.default_rng(seed)
        shapes = ((size, width), (size, width), (size,), (size,))
        return cls(*(((rng.random(shape) - 0.5) / (width + 1)).astype(np.float32) for shape in shapes))

    def parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return self.words, self.contexts, self.word_bias, self.context_bias


@dataclass(frozen=True)
class NonzeroCells:
    """Nonzero cells of X: row, column, log X_ij and f(X_ij), each (n,)."""

    rows: np.ndarray
    columns: np.ndarray
    log: np.ndarray
    weight: np.ndarray

    @classmethod
    def from_matrix(cls, counts: Any, x_max: float, alpha: float, dtype: Any = np.float32) -> NonzeroCells:
        """Read a sparse matrix; equation 9: f(x) = (x / x_max)^α below x_max, else 1."""
        found = counts.tocoo()
        weight = np.minimum(1, (found.data / x_max) ** alpha)
        return cls(found.row.astype(np.int32), found.col.astype(np.int32), np.log(found.data).astype(dtype), weight.astype(dtype))

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, order: np.ndarray) -> NonzeroCells:
        return NonzeroCells(self.rows[order], self.columns[order], self.log[order], self.weight[order])

    def blocks(self, size: int) -> Iterator[NonzeroCells]:
        for begin in range(0, len(self), size):
            yield self.take(np.arange(begin, min(begin + size, len(self))))


@dataclass(frozen=True)
class GloveGradient:
    """For each of the four parameters, the rows affected by some cells, and the gradient of J for them."""

    rows: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    gradients: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def default_x_max(words: int) -> float:
    """Return x_max for a corpus of this many words: the paper's 100 from 10⁹ words on, below that 100 √(words / 10⁹), at least 1.

    The paper's corpora have 10⁹ to 4 · 10¹⁰ words. With 10⁵, most X_ij are below 2, and 100 would leave only the few most frequent pairs.
    This rule is not from the paper; it was chosen by Spearman on STSb's dev set with vectors of its training texts.
    """
    return float(np.clip(100 * np.sqrt(words / 1e9), 1, 100))


def glove_loss(factors: Factors, cells: NonzeroCells) -> float:
    """Return J = Σ f(X_ij) (w_i · w~_j + b_i + b~_j − log X_ij)² over the cells, equation 8."""
    return float(sum((block.weight * _errors(factors, block) ** 2).sum(dtype=np.float64) for block in cells.blocks(_MAX_STEP_CELLS)))


def glove_gradients(factors: Factors, cells: NonzeroCells) -> GloveGradient:
    """Return the gradient of :func:`glove_loss`, summed over the cells of each word.

    With 2 f(X_ij) (w_i · w~_j + …) as a sparse matrix, its product with w~ is the gradient of w, and so on.
    """
    from scipy.sparse import csr_array

    pull = 2 * cells.weight * _errors(factors, cells)
    rows, row_places = _distinct(cells.rows, len(factors.words))
    columns, column_places = _distinct(cells.columns, len(factors.words))
    sparse = csr_array((pull, (row_places, column_places)), shape=(len(rows), len(columns)))
    return GloveGradient(
        (rows, columns, rows, columns),
        (
            sparse @ factors.contexts[columns],
            sparse.T @ factors.words[rows],
            np.bincount(row_places, pull, len(rows)).astype(pull.dtype),
            np.bincount(column_places, pull, len(columns)).astype(pull.dtype),
        ),
    )


class AdaGrad:
    """Update of each parameter by rate · g / √(Σ g²) over its gradients so far (Duchi et al. 2011)."""

    def __init__(self, factors: Factors, rate: float) -> None:
        self.factors, self.rate = factors, rate
        self.squares = tuple(np.full_like(part, _FIRST_SQUARE) for part in factors.parts())

    def step(self, cells: NonzeroCells) -> None:
        found = glove_gradients(self.factors, cells)
        for part, squares, rows, gradient in zip(self.factors.parts(), self.squares, found.rows, found.gradients, strict=True):
            sums = squares[rows] + gradient * gradient
            squares[rows] = sums
            part[rows] -= self.rate * gradient / np.sqrt(sums)


def fit_factors(
    cells: NonzeroCells, factors: Factors, epochs: int, rate: float, seed: int = SEED, progress: Progress | None = None
) -> None:
    """Minimize J with AdaGrad over shuffled cells, a few thousand per step; ``progress`` is called with the number of cells."""
    rng = np.random.default_rng([seed, 1])
    size = int(np.clip(len(cells) // _STEPS_PER_EPOCH, _MIN_STEP_CELLS, _MAX_STEP_CELLS))
    order = np.arange(len(cells), dtype=np.int32)
    adagrad = AdaGrad(factors, rate)
    for epoch in range(epochs):
        rng.shuffle(order)
        for begin in range(0, len(order), size):
            checkpoint()
            adagrad.step(cells.take(order[begin : begin + size]))
            if progress is not None:
                progress(epoch * len(order) + min(begin + size, len(order)), epochs * len(order))


@LEARNERS.register("glove")
class GloVe(Learner):
    """GloVe learner; the vector of a word is w + w~ (section 4.2)."""

    title = "GloVe"
    summary = "Learns from word co-occurrence counts over all texts."
    unit = "word pairs"

    @dataclass(frozen=True)
    class Params(LearnerParams):
        """Parameters of equation 9 and AdaGrad."""

        x_max: float = setting(
            0.0, "Co-occurrence count from which pairs have full weight; 0: 100 for large corpora, less for small ones.", min=0
        )
        alpha: float = setting(0.75, "Exponent that downweights rarer pairs.", min=0, max=1, step=0.05)
        rate: float = setting(0.05, "The learning rate of AdaGrad.", min=1e-6, max=1)

    def learn(self, texts: Sequence[str], seed: int = SEED, progress: Progress | None = None) -> WordVectors:
        """Count co-occurrences, then fit; ``progress`` covers the fitting, which takes nearly all of the time."""
        vocabulary = self.vocabulary(texts)
        ids, starts = WordTokens(vocabulary.words).flat(texts)
        counts = cooccurrences(ids, starts, len(vocabulary), self.params.window)
        if counts.nnz == 0:
            raise StudioError("no text contains two known words", "use texts of several words, or keep rarer words")
        cells = NonzeroCells.from_matrix(counts, self.params.x_max or default_x_max(len(ids)), self.params.alpha)
        factors = Factors.draw(len(vocabulary), self.params.width, seed)
        fit_factors(cells, factors, self.params.epochs, self.params.rate, seed, progress)
        return WordVectors(vocabulary.words, factors.words + factors.contexts, vocabulary.counts, self.name)


def _errors(factors: Factors, cells: NonzeroCells) -> np.ndarray:
    products = np.einsum("nd,nd->n", factors.words[cells.rows], factors.contexts[cells.columns])
    return np.asarray(products + factors.word_bias[cells.rows] + factors.context_bias[cells.columns] - cells.log)


def _distinct(ids: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    seen = np.zeros(size, bool)
    seen[ids] = True
    return np.flatnonzero(seen), (np.cumsum(seen, dtype=np.int32) - 1)[ids]
