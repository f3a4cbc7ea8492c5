"""Triplets: is the anchor nearer to its positive than to every negative? (SBERT paper, section 4.4)

Triplets: an anchor, what is like it, and what is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..answers import of_margins
from ..bootstrap import interval_of_share, resampled_mean
from ..encoding import MEASURES, similarities
from ..report import Report, compared_by
from .base import REGISTRY, Shape, Task

if TYPE_CHECKING:
    import numpy as np

    from ...data.examples import Examples
    from .categories import Known


def evaluate_triplets(anchor: np.ndarray, positive: np.ndarray, negatives: Sequence[np.ndarray], by: str = "cosine") -> Report:
    """The share of rows whose positive is strictly more alike to the anchor than each of its negatives.

    Args:
        anchor, positive: (n, d) vectors.
        negatives: at least one (n, d) array.
        by: the main similarity, that by which the model compares.

    Returns:
        A report of ``triplets``: ``{accuracy}`` for each similarity, and ``accuracy``, the main one's, with
        ``interval``, its 95% bootstrap interval.
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
    drawn = resampled_mean(won[by])
    scores = {"accuracy": scores[by]["accuracy"], **scores, "interval": interval_of_share(drawn, won[by]), **compared_by(by)}
    return Report("triplets", len(anchor), scores, resampled=drawn, answers=of_margins(margins))


@REGISTRY.register("triplets")
class Triplets(Task):
    """The nearer of two."""

    order = 4
    title = "Triplets"
    help = "The share of anchors that are nearer to their positive than to every negative."
    kinds = ("triplets",)
    main = ("cosine", "accuracy")

    def fits(self, shape: Shape) -> bool:
        """Triplets."""
        return shape.kind == "triplets"

    def judge_vectors(self, examples: Examples, vectors: Sequence[np.ndarray], known: Known | None = None, by: str = "cosine") -> Report:
        """See :func:`~sbert_studio.evaluation.tasks.triplets.evaluate_triplets`."""

        return evaluate_triplets(vectors[0], vectors[1], vectors[2:], by)

    def pairs(self, examples: Examples) -> list[tuple[str, str]]:
        """Each anchor with its positive, then each with its first negative, and so on."""
        return [pair for column in examples.texts[1:] for pair in zip(examples.texts[0], column, strict=True)]

    def judge_scores(self, examples: Examples, scores: np.ndarray, classes: tuple[str, ...]) -> Report:
        """See :func:`~sbert_studio.evaluation.measures.crossing.evaluate_triplet_scores`."""
        from ..measures.crossing import evaluate_triplet_scores

        return evaluate_triplet_scores(scores.reshape(len(examples.texts) - 1, -1))
