"""Triplets: an anchor, what is like it, and what is not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .base import REGISTRY, Shape, Task

if TYPE_CHECKING:
    import numpy as np

    from ...data.examples import Examples
    from ..measures.categories import Known
    from ..report import Report


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
        """See :func:`~sbert_studio.evaluation.measures.triplets.evaluate_triplets`."""
        from ..measures.triplets import evaluate_triplets

        return evaluate_triplets(vectors[0], vectors[1], vectors[2:], by)

    def pairs(self, examples: Examples) -> list[tuple[str, str]]:
        """Each anchor with its positive, then each with its first negative, and so on."""
        return [pair for column in examples.texts[1:] for pair in zip(examples.texts[0], column, strict=True)]

    def judge_scores(self, examples: Examples, scores: np.ndarray, classes: tuple[str, ...]) -> Report:
        """See :func:`~sbert_studio.evaluation.measures.crossing.evaluate_triplet_scores`."""
        from ..measures.crossing import evaluate_triplet_scores

        return evaluate_triplet_scores(scores.reshape(len(examples.texts) - 1, -1))
