"""Semantic textual similarity: pairs with a score, or with ordered classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from .base import REGISTRY, Shape, Task, require_order

if TYPE_CHECKING:
    import numpy as np

    from ...data.examples import Examples
    from ...data.schema.roles import Roles
    from ..measures.categories import Known
    from ..report import Report


@REGISTRY.register("sts")
class Sts(Task):
    """Rank and linear correlation with what people said."""

    order = 1
    title = "Similarity with scores (STS)"
    help = "Spearman's and Pearson's correlation of each similarity with the scores that people gave."
    kinds = ("scored_pairs", "labelled_pairs")
    main = ("cosine", "spearman")
    pools = True
    by_similarity = True

    def fits(self, shape: Shape) -> bool:
        """Scores, and three or more classes that rise with similarity (contradiction, neutral, entailment)."""
        ranked = shape.kind == "labelled_pairs" and shape.ordered and shape.labels > 2 and shape.gives != "class"
        return shape.kind == "scored_pairs" or ranked

    def require(self, roles: Roles) -> None:
        """Classes have an order."""
        require_order(roles)

    def averaged(self, scores: Mapping[str, Any]) -> dict[str, Any]:
        """Both correlations of every similarity."""
        correlations = ("spearman", "pearson")
        return {name: {each: own[each] for each in correlations} for name, own in scores.items() if isinstance(own, Mapping)}

    def judge_vectors(self, examples: Examples, vectors: Sequence[np.ndarray], known: Known | None = None, by: str = "cosine") -> Report:
        """See :func:`~sbert_studio.evaluation.measures.sts.evaluate_sts`."""
        from ..measures.sts import evaluate_sts

        return evaluate_sts(vectors[0], vectors[1], cast("np.ndarray", examples.targets), by)

    def judge_alike(self, targets: np.ndarray, alike: Mapping[str, np.ndarray], by: str = "cosine") -> Report:
        """See :func:`~sbert_studio.evaluation.measures.sts.evaluate_sts`."""
        from ..measures.sts import evaluate_sts_alike

        return evaluate_sts_alike(alike, targets, by)

    def judge_scores(self, examples: Examples, scores: np.ndarray, classes: tuple[str, ...]) -> Report:
        """See :func:`~sbert_studio.evaluation.measures.crossing.evaluate_scores`; classes stand at equal distances from 0 to 1."""
        from ..measures.crossing import evaluate_scores

        targets = cast("np.ndarray", examples.targets)
        return evaluate_scores(scores, targets if targets.dtype.kind == "f" else targets / max(1, len(examples.labels) - 1))
