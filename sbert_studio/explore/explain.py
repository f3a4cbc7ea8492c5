"""Explain a similarity score: aligned words, and the usual scores of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..models.similarity import unit

if TYPE_CHECKING:
    from ..models.word_encoder import WordStates


Span = tuple[int, int]


@dataclass(frozen=True)
class Alignment:
    """The n words of one text and the m of another.

    Attributes:
        words: where they stand in either text.
        alike: (n, m) float32, the cosines of their vectors in context; a word of several tokens has their mean.
        parts: (n, m) float64, what each pair of words adds to the cosine of the texts; ``None`` where that is no sum over words.
        rest: what is added by marks that stand for no word; with the parts it is the cosine.
    """

    words: tuple[tuple[Span, ...], tuple[Span, ...]]
    alike: np.ndarray
    parts: np.ndarray | None = None
    rest: float = 0.0

    @property
    def cosine(self) -> float | None:
        """Of the two texts, as the sum of its parts."""
        return None if self.parts is None else float(self.parts.sum() + self.rest)

    @property
    def partners(self) -> tuple[np.ndarray, np.ndarray]:
        """For each word of either text the word of the other that is most like it: (n,) and (m,) int64."""
        return self.alike.argmax(axis=1), self.alike.argmax(axis=0)

    @property
    def match(self) -> tuple[float, float, float]:
        """How well each text's words are found in the other one, and the harmonic mean of both: recall, precision and F₁ of BERTScore
        (Zhang et al. 2020, section 3, with words for tokens and without weights), the first text being the reference.
        """
        recall, precision = float(self.alike.max(axis=1).mean()), float(self.alike.max(axis=0).mean())
        together = recall + precision
        return recall, precision, 2 * recall * precision / together if together > 0 else 0.0


def align(a: WordStates, b: WordStates) -> Alignment | None:
    """Two texts word by word; ``None`` where one has no word that is read.

    Where a text's vector is the weighted mean of its tokens', u = Σᵢ wᵢ sᵢ / Σᵢ wᵢ, the cosine is a sum over pairs of tokens:
    cos(u, v) = Σᵢⱼ wᵢ xⱼ sᵢ·tⱼ / (|Σ w s| |Σ x t|). The parts of a pair of words are those of its tokens.
    """
    if not a.words or not b.words:
        return None
    alike = np.clip(unit(_means(a)) @ unit(_means(b)).T, -1, 1)
    if not (a.sums and b.sums):
        return Alignment((a.words, b.words), alike)
    left, right = a.vectors * a.weights[:, None], b.vectors * b.weights[:, None]
    scale = float(np.linalg.norm(left.sum(axis=0)) * np.linalg.norm(right.sum(axis=0)))
    if scale <= 0:
        return Alignment((a.words, b.words), alike)
    tokens = left @ right.T / scale
    parts = _by_owner(_by_owner(tokens, a.owner, len(a.words)).T, b.owner, len(b.words)).T
    return Alignment((a.words, b.words), alike, parts, float(tokens.sum() - parts.sum()))


def _means(states: WordStates) -> np.ndarray:
    """(n, d): the mean vector of each word's tokens."""
    counts = np.bincount(states.owner[states.owner >= 0], minlength=len(states.words))
    return _by_owner(states.vectors, states.owner, len(states.words)) / counts[:, None]


def _by_owner(rows: np.ndarray, owner: np.ndarray, words: int) -> np.ndarray:
    """The rows of (t, k) added up by their word: (words, k); those of no word are left out."""
    found = np.zeros((words, rows.shape[1]))
    np.add.at(found, owner[owner >= 0], rows[owner >= 0])
    return found


MOST_TEXTS = 300
FEWEST_TEXTS = 20
_SEED = 12
_STEPS = (100, 1_000, 10_000)


@dataclass(frozen=True)
class Usual:
    """The cosines of random pairs.

    Attributes:
        cosines: (pairs,) float32, ascending.
        of: where the texts are from.
    """

    cosines: np.ndarray
    of: str

    def share(self, cosine: float) -> float:
        """The share of random pairs that are less alike than ``cosine``, in [0, 1]."""
        return float(np.searchsorted(self.cosines, np.float32(cosine), side="left") / len(self.cosines))

    def shares(self, cosines: np.ndarray) -> np.ndarray:
        """:meth:`share` of each cell of an array."""
        return np.asarray(np.searchsorted(self.cosines, np.asarray(cosines, np.float32), side="left") / len(self.cosines))

    def quantile(self, share: float) -> float:
        """The cosine below which that share of the pairs lies."""
        return float(np.quantile(self.cosines, share))

    def odds(self, cosine: float) -> str:
        """:meth:`share` as natural frequencies: ``85 of 100``, ``998 of 1,000``, ``all 44,850``."""
        share = self.share(cosine)
        if share >= 1:
            return f"all {len(self.cosines):,}"
        of = next((step for step in _STEPS if share * step <= step - 1), _STEPS[-1])
        return f"{int(share * of + 1e-9):,} of {of:,}"

    def bins(self, low: float, high: float, count: int) -> list[float]:
        """A histogram in ``count`` bins from ``low`` to ``high``, as shares of its highest bin."""
        found, _ = np.histogram(self.cosines, bins=count, range=(low, high))
        return [float(share) for share in found / max(1, int(found.max()))]


def some_texts(texts: Sequence[str], most: int = MOST_TEXTS) -> list[str]:
    """Different texts taken at random, always the same ones of the same texts, in their order."""
    different = list(dict.fromkeys(texts))
    if len(different) <= most:
        return different
    rows = np.sort(np.random.default_rng(_SEED).choice(len(different), most, replace=False))
    return [different[row] for row in rows]


def usual_cosines(vectors: np.ndarray) -> np.ndarray:
    """The cosines of all pairs of rows of (n, d), ascending: (n · (n − 1) / 2,) float32."""
    rows = unit(vectors)
    left, right = np.triu_indices(len(rows), 1)
    return np.sort(np.clip((rows @ rows.T)[left, right], -1, 1)).astype(np.float32)
