"""Triplets: is the anchor closer to its positive than to every negative? (SBERT paper, section 4.4)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..answers import predictions_from_margins
from ..bootstrap import bootstrap_mean, share_interval
from ..encoding import MEASURES, similarities
from ..report import Report, similarity_entry
from .base import TASK_REGISTRY, DataShape, Task

if TYPE_CHECKING:
    import numpy as np

    from ...data.examples import Examples
    from .categories import ReferenceTexts


def evaluate_triplets(anchor: np.ndarray, positive: np.ndarray, negatives: Sequence[np.ndarray], by: str = "cosine") -> Report:
    """Compute the share of rows whose positive is strictly more similar to the anchor than each negative.

    Args:
        anchor, positive: (n, d) vectors.
        negatives: at least one (n, d) array.
        by: main similarity, that of the model.

    Returns:
        A ``triplets`` report: ``{accuracy}`` for each similarity, and the main ``accuracy`` with its 95 % bootstrap ``interval``.
    """
    near = similarities(anchor, positive)
    won = {name: np.ones(len(anchor), bool) for name in MEASURES}
    margins = np.full(len(anchor), np.inf)
    for negative in negatives:
        far = similarities(anchor, negative)
        for name in MEASURES:
            won[name] &= near[name] > far[name]
        margins = np.minimum(margins, near[by] - far[by])
    scores: dict[str, Any] = {name: {"accuracy": float(rows.mean())} for name, rows in won.items()}
    drawn = bootstrap_mean(won[by])
    scores = {"accuracy": scores[by]["accuracy"], **scores, "interval": share_interval(drawn, won[by]), **similarity_entry(by)}
    return Report("triplets", len(anchor), scores, resampled=drawn, answers=predictions_from_margins(margins))


def evaluate_triplet_scores(scores: np.ndarray) -> Report:
    """Compute the share of triplets whose positive scores higher than each negative; ties count as errors.

    Args:
        scores: (columns, n): of each anchor with its positive, then with its negatives.
    """
    margins = scores[0] - scores[1:].max(axis=0)
    right = (margins > 0).astype(np.float64)
    drawn = bootstrap_mean(right)
    found = {"pair": {"accuracy": float(right.mean())}, "interval": share_interval(drawn, right)}
    return Report("triplets", len(right), found, resampled=drawn, answers=predictions_from_margins(margins))


@TASK_REGISTRY.register("triplets")
class TripletTask(Task):
    """Triplet accuracy."""

    order = 4
    title = "Triplets"
    help = "The share of anchors that are nearer to their positive than to every negative."
    kinds = ("triplets",)
    main = ("cosine", "accuracy")

    def fits(self, shape: DataShape) -> bool:
        return shape.kind == "triplets"

    def evaluate_vectors(
        self, examples: Examples, vectors: Sequence[np.ndarray], reference: ReferenceTexts | None = None, by: str = "cosine"
    ) -> Report:
        return evaluate_triplets(vectors[0], vectors[1], vectors[2:], by)

    def pairs(self, examples: Examples) -> list[tuple[str, str]]:
        """Return each anchor with its positive, then each with its first negative, and so on."""
        return [pair for column in examples.texts[1:] for pair in zip(examples.texts[0], column, strict=True)]

    def evaluate_pair_scores(self, examples: Examples, scores: np.ndarray, classes: tuple[str, ...]) -> Report:
        return evaluate_triplet_scores(scores.reshape(len(examples.texts) - 1, -1))
