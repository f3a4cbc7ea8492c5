"""Texts with a class, judged by a classifier on frozen vectors."""

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


@REGISTRY.register("transfer")
class Transfer(OfTexts):
    """A linear probe."""

    order = 7
    title = "Texts with a category: a linear probe"
    help = "Accuracy and macro F1 of a logistic regression on the vectors, cross-validated."
    main = ("accuracy",)

    def fits(self, shape: Shape) -> bool:
        """Texts beside classes of which nothing says that they should lie together."""
        return shape.classed and shape.kind == "sentences"

    def judge_vectors(self, examples: Examples, vectors: Sequence[np.ndarray], known: Known | None = None, by: str = "cosine") -> Report:
        """See :func:`~sbert_studio.evaluation.measures.transfer.cross_validated`."""
        from ..measures.transfer import cross_validated

        return cross_validated(vectors[0], categories_of(examples))
