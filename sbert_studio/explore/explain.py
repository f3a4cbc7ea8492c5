"""Explanation of similarity scores: word alignment, and the score distribution of a model on random pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..i18n import _
from ..models.similarity import unit

if TYPE_CHECKING:
    from ..models.word_encoder import TokenStates


Span = tuple[int, int]


@dataclass(frozen=True)
class WordAlignment:
    """Word alignment of two texts with n and m words.

    Attributes:
        words: spans of the words in both texts.
        alike: (n, m) float32 cosines of contextual word vectors (means over tokens).
        parts: (n, m) float64 contributions to the cosine of the texts; ``None`` if it is not a sum over words.
        rest: contribution of tokens outside words; parts and rest sum to the cosine.
    """

    words: tuple[tuple[Span, ...], tuple[Span, ...]]
    alike: np.ndarray
    parts: np.ndarray | None = None
    rest: float = 0.0

    @property
    def cosine(self) -> float | None:
        return None if self.parts is None else float(self.parts.sum() + self.rest)

    @property
    def partners(self) -> tuple[np.ndarray, np.ndarray]:
        """Most similar word of the other text for each word of either text: (n,) and (m,) int64."""
        return self.alike.argmax(axis=1), self.alike.argmax(axis=0)

    @property
    def match(self) -> tuple[float, float, float]:
        """Recall, precision and F₁ of BERTScore over words, without IDF weights; the first text is the reference (Zhang et al. 2020)."""
        recall, precision = float(self.alike.max(axis=1).mean()), float(self.alike.max(axis=0).mean())
        together = recall + precision
        return recall, precision, 2 * recall * precision / together if together > 0 else 0.0


def align_words(a: TokenStates, b: TokenStates) -> WordAlignment | None:
    """Align two texts word by word; ``None`` if one has no words.

    If a text vector is the weighted mean of its tokens, u = Σᵢ wᵢ sᵢ / Σᵢ wᵢ, its cosine is a sum over token pairs:
    cos(u, v) = Σᵢⱼ wᵢ xⱼ sᵢ·tⱼ / (|Σ w s| |Σ x t|). The contribution of a word pair is the sum over its tokens.
    """
    if not a.words or not b.words:
        return None
    alike = np.clip(unit(_word_means(a)) @ unit(_word_means(b)).T, -1, 1)
    if not (a.sums and b.sums):
        return WordAlignment((a.words, b.words), alike)
    left, right = a.vectors * a.weights[:, None], b.vectors * b.weights[:, None]
    scale = float(np.linalg.norm(left.sum(axis=0)) * np.linalg.norm(right.sum(axis=0)))
    if scale <= 0:
        return WordAlignment((a.words, b.words), alike)
    tokens = left @ right.T / scale
    parts = _sum_by_word(_sum_by_word(tokens, a.owner, len(a.words)).T, b.owner, len(b.words)).T
    return WordAlignment((a.words, b.words), alike, parts, float(tokens.sum() - parts.sum()))


def _word_means(states: TokenStates) -> np.ndarray:
    counts = np.bincount(states.owner[states.owner >= 0], minlength=len(states.words))
    return _sum_by_word(states.vectors, states.owner, len(states.words)) / counts[:, None]


def _sum_by_word(rows: np.ndarray, owner: np.ndarray, words: int) -> np.ndarray:
    found = np.zeros((words, rows.shape[1]))
    np.add.at(found, owner[owner >= 0], rows[owner >= 0])
    return found


MAX_TEXTS = 300
MIN_TEXTS = 20
_SEED = 12
_STEPS = (100, 1_000, 10_000)


@dataclass(frozen=True)
class ScoreDistribution:
    """Cosines of random pairs of texts, ascending, (pairs,) float32; ``of`` describes the texts."""

    cosines: np.ndarray
    of: str

    def share(self, cosine: float) -> float:
        """Return the share of random pairs below ``cosine``, in [0, 1]."""
        return float(self.shares(np.asarray(cosine)))

    def shares(self, cosines: np.ndarray) -> np.ndarray:
        return np.asarray(np.searchsorted(self.cosines, np.asarray(cosines, np.float32), side="left") / len(self.cosines))

    def quantile(self, share: float) -> float:
        """Return the cosine below which this share of the pairs is."""
        return float(np.quantile(self.cosines, share))

    def odds(self, cosine: float) -> str:
        """Return :meth:`share` as natural frequencies: ``85 of 100``, ``998 of 1,000``, ``all 44,850``."""
        share = self.share(cosine)
        if share >= 1:
            return _("all {cosines}", cosines=f"{len(self.cosines):,}")
        base = next((step for step in _STEPS if share * step <= step - 1), _STEPS[-1])
        return _("{share} of {base}", share=f"{int(share * base + 1e-9):,}", base=f"{base:,}")

    def bins(self, low: float, high: float, count: int) -> list[float]:
        """Return a histogram of ``count`` bins from ``low`` to ``high``, relative to its highest bin."""
        found, _ = np.histogram(self.cosines, bins=count, range=(low, high))
        return [float(share) for share in found / max(1, int(found.max()))]


def sample_texts(texts: Sequence[str], most: int = MAX_TEXTS) -> list[str]:
    """Return a fixed random sample of distinct texts in their original order."""
    different = list(dict.fromkeys(texts))
    if len(different) <= most:
        return different
    rows = np.sort(np.random.default_rng(_SEED).choice(len(different), most, replace=False))
    return [different[row] for row in rows]


def random_pair_cosines(vectors: np.ndarray) -> np.ndarray:
    """Return the cosines of all pairs of rows of (n, d) vectors, ascending: (n · (n − 1) / 2,) float32."""
    rows = unit(vectors)
    left, right = np.triu_indices(len(rows), 1)
    return np.sort(np.clip((rows @ rows.T)[left, right], -1, 1)).astype(np.float32)
