"""Positive pairs: a text and its partner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .base import REGISTRY, Shape, Task

if TYPE_CHECKING:
    import numpy as np

    from ...data.examples import Examples
    from ..categories import Known
    from ..report import Report


@REGISTRY.register("retrieval")
class Retrieval(Task):
    """Finding the partner among all."""

    order = 5
    title = "Retrieval of the other half"
    help = "How far up a text finds its own partner among all partners: the mean reciprocal rank within the first ten, and recall."
    kinds = ("positive_pairs",)
    main = ("mrr_at_10",)
    needs_vectors = True

    def fits(self, shape: Shape) -> bool:
        """Positive pairs."""
        return shape.kind == "positive_pairs"

    def judge_vectors(self, examples: Examples, vectors: Sequence[np.ndarray], known: Known | None = None) -> Report:
        """See :func:`~sbert_studio.evaluation.retrieval.evaluate_retrieval`."""
        from ...data.splits.siblings import siblings
        from ..retrieval import evaluate_retrieval

        return evaluate_retrieval(vectors[0], vectors[1], examples.texts[0], examples.texts[1], siblings(examples))
