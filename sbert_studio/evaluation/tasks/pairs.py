"""Pairs that are the same or not (paraphrases, duplicates)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from ...errors import StudioError
from .base import REGISTRY, Shape, Task, require_order

if TYPE_CHECKING:
    import numpy as np

    from ...data.examples import Examples
    from ...data.schema.roles import Roles
    from ..measures.categories import Known
    from ..report import Report


@REGISTRY.register("pairs")
class Pairs(Task):
    """Ranking and the best threshold."""

    order = 2
    title = "Pairs with yes or no"
    help = "Average precision of each similarity, and the accuracy and F1 of the threshold that is best on these rows."
    kinds = ("labelled_pairs",)
    main = ("cosine", "average_precision")
    by_similarity = True

    def fits(self, shape: Shape) -> bool:
        """Two classes, the second of which means alike; a model that scores pairs is trusted with any two."""
        if shape.kind != "labelled_pairs" or shape.gives == "class":
            return False
        return (shape.ordered and shape.labels <= 2) or (shape.gives == "score" and shape.labels == 2)

    def require(self, roles: Roles) -> None:
        """There are two classes in an order."""
        if len(roles.labels) != 2:
            raise StudioError(
                f"the labels are {', '.join(roles.labels) or 'missing'}", "pairs need labels of two classes, 0 and 1; try sts"
            )
        require_order(roles)

    def judge_vectors(self, examples: Examples, vectors: Sequence[np.ndarray], known: Known | None = None, by: str = "cosine") -> Report:
        """See :func:`~sbert_studio.evaluation.measures.pairs.evaluate_pairs`."""
        from ..measures.pairs import evaluate_pairs

        return evaluate_pairs(vectors[0], vectors[1], cast("np.ndarray", examples.targets), by)

    def judge_alike(self, targets: np.ndarray, alike: Mapping[str, np.ndarray], by: str = "cosine") -> Report:
        """See :func:`~sbert_studio.evaluation.measures.pairs.evaluate_pairs`."""
        from ..measures.pairs import evaluate_pairs_alike

        return evaluate_pairs_alike(alike, targets, by)

    def judge_scores(self, examples: Examples, scores: np.ndarray, classes: tuple[str, ...]) -> Report:
        """See :func:`~sbert_studio.evaluation.measures.crossing.evaluate_labels`."""
        from ..measures.crossing import evaluate_labels

        return evaluate_labels(scores, cast("np.ndarray", examples.targets))
