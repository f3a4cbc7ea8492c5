"""Texts with a class, judged by whether clusters find the classes again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .base import REGISTRY, Shape
from .of_texts import OfTexts, categories_of

if TYPE_CHECKING:
    import numpy as np

    from ...data.examples import Examples
    from ..measures.categories import Known
    from ..report import Report


@REGISTRY.register("clustering")
class Clustering(OfTexts):
    """K-means against the classes."""

    order = 8
    title = "Texts with a category: clustering"
    help = "V-measure of k-means, with as many clusters as there are classes."
    main = ("v_measure",)

    def fits(self, shape: Shape) -> bool:
        """Nothing: it is chosen by name."""
        return False

    def judge_vectors(self, examples: Examples, vectors: Sequence[np.ndarray], known: Known | None = None, by: str = "cosine") -> Report:
        """See :func:`~sbert_studio.evaluation.measures.clustering.evaluate_clustering`."""
        from ..measures.clustering import evaluate_clustering

        return evaluate_clustering(vectors[0], categories_of(examples))
