"""Paraphrase mining: find the pairs of equal meaning among all pairs of texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...data.split import normalize_text
from ...errors import StudioError
from ...models.similarity import similarity
from ...progress import checkpoint
from ..bootstrap import bootstrap_scores, percentile_interval
from ..report import Report
from .base import TASK_REGISTRY, EncodedExamples, Task, require_order

if TYPE_CHECKING:
    from ...data.schema.roles import Kind, Roles

MAX_PAIRS = 500_000
"""Number of most similar pairs that are mined; a pair below them counts as not found."""
_BLOCK = 4_000_000  # cells per block of similarities
_NAMES = ("average_precision", "f1", "precision", "recall", "threshold")


def evaluate_mined_pairs(scores: np.ndarray, correct: np.ndarray, total: int) -> dict[str, float]:
    """Compute average precision and the best F1 of mined pairs, with equal scores combined.

    Args:
        scores: (m,) similarities in descending order.
        correct: (m,) bool, pairs of equal meaning.
        total: number of pairs of equal meaning, found or not.

    Returns:
        ``{average_precision, f1, precision, recall, threshold}``.
    """
    last = np.flatnonzero(np.diff(scores, append=-np.inf))
    hits, mined = np.cumsum(correct)[last], last + 1
    if not len(last) or not hits[-1]:
        return dict.fromkeys(_NAMES, 0.0)
    precision, f1 = hits / mined, 2 * hits / (mined + total)
    best = int(f1.argmax())
    following = scores[last[min(best + 1, len(last) - 1)]]
    average = np.diff(hits, prepend=0) @ precision / total
    values = (average, f1[best], precision[best], hits[best] / total, (scores[last[best]] + following) / 2)
    return dict(zip(_NAMES, map(float, values), strict=True))


def bootstrap_mined_pairs(scores: np.ndarray, correct: np.ndarray, names: np.ndarray, total: int) -> np.ndarray:
    """Return the average precision in every resample of the pairs of equal meaning, (resamples,); the other pairs stay.

    Args:
        scores, correct, total: as for :func:`evaluate_mined_pairs`.
        names: for each correct pair, in the order of the scores, its number among the ``total`` pairs, equal for all models.
    """
    last = np.searchsorted(-scores, -scores, side="right") - 1  # the last pair with the same score
    last_hit = np.cumsum(correct)[last][correct] - 1
    wrong = np.cumsum(~correct)[last][correct]

    def score(counts: np.ndarray) -> np.ndarray:
        drawn = counts[:, names]
        hits = np.cumsum(drawn, axis=1)[:, last_hit]
        return np.asarray((drawn * hits / np.maximum(hits + wrong, 1)).sum(axis=1) / counts.sum(axis=1))

    return bootstrap_scores(score, total)


def find_top_pairs(vectors: np.ndarray, count: int = MAX_PAIRS, by: str = "cosine") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the ``count`` most similar pairs of (n, d) vectors: rows a < b and similarities, best first, (m,) each."""
    step = max(1, _BLOCK // max(len(vectors), 1))
    a, b, scores = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    for start in range(0, len(vectors), step):
        checkpoint()
        block = similarity(vectors[start : start + step], vectors[start:], by)
        floor = scores.min() if len(scores) == count else -np.inf
        rows, columns = np.nonzero(np.triu(block >= floor, 1))
        a, b = np.concatenate([a, rows + start]), np.concatenate([b, columns + start])
        scores = np.concatenate([scores, block[rows, columns]])
        if len(scores) > count:
            kept = np.argpartition(-scores, count - 1)[:count]
            a, b, scores = a[kept], b[kept], scores[kept]
    order = np.lexsort((b, a, -scores))
    return a[order], b[order], scores[order]


@TASK_REGISTRY.register("mining")
class MiningTask(Task):
    """Paraphrase mining over all texts of the rows (SBERT documentation; evaluation as in sentence-transformers)."""

    order = 6
    title = "Paraphrase mining"
    help = "Average precision and best F1 of the most similar of all pairs of texts, for the pairs of equal meaning in the rows."
    kinds: ClassVar[tuple[Kind, ...]] = ("positive_pairs", "labelled_pairs")
    main: ClassVar[tuple[str, ...]] = ("average_precision",)
    needs_vectors = True

    def require(self, roles: Roles) -> None:
        require_order(roles)

    def evaluate_vectors(self, encoded: EncodedExamples, reference: EncodedExamples | None = None, by: str = "cosine") -> Report:
        """Evaluate the texts of both columns; texts equal up to case and spaces are one text."""
        examples = encoded.examples
        places: dict[str, int] = {}
        sides = [[places.setdefault(normalize_text(text), len(places)) for text in column] for column in examples.texts[:2]]
        vectors = np.empty((len(places), encoded.vectors[0].shape[1]), np.float32)
        for side, own in zip(sides, encoded.vectors, strict=False):
            vectors[side] = own
        same = np.ones(len(examples), bool) if examples.targets is None else examples.targets == examples.targets.max()
        pairs = np.sort(np.array(sides, np.int64).T[same], axis=1)
        wanted = np.unique(pairs[pairs[:, 0] < pairs[:, 1]] @ [len(places), 1])
        if not len(wanted):
            raise StudioError("no row has two different texts of equal meaning", "paraphrase mining needs pairs to find")
        a, b, scores = find_top_pairs(vectors, by=by)
        correct = np.isin(mined := a * len(places) + b, wanted)
        found = evaluate_mined_pairs(scores, correct, len(wanted))
        drawn = bootstrap_mined_pairs(scores, correct, np.searchsorted(wanted, mined[correct]), len(wanted))
        counts = {"texts": len(places), "pairs": len(wanted)}
        return Report("mining", len(examples), {**found, **counts, "interval": percentile_interval(drawn)}, resampled=drawn)
