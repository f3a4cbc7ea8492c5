"""Scored pairs of several topics, judged within each (argument facets; SBERT paper, section 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from ...errors import StudioError
from .base import REGISTRY, Shape, Task

if TYPE_CHECKING:
    import numpy as np

    from ...data.examples import Examples
    from ...data.schema.roles import Roles
    from ..measures.categories import Known
    from ..report import Report


@REGISTRY.register("topics")
class Topics(Task):
    """Correlations within groups of pairs."""

    order = 10
    title = "Similarity with scores, within each topic"
    help = "Spearman's and Pearson's correlation of the cosine with the scores within each group of pairs, their mean, and over all."
    kinds = ("scored_pairs",)
    main = ("mean", "spearman")

    def fits(self, shape: Shape) -> bool:
        """Nothing: it is chosen by name."""
        return False

    def require(self, roles: Roles) -> None:
        """There is a column of groups."""
        if roles.group is None:
            raise StudioError("no column says which topic a pair is of", "name it as the group: --group topic")

    def judge_vectors(self, examples: Examples, vectors: Sequence[np.ndarray], known: Known | None = None, by: str = "cosine") -> Report:
        """See :func:`~sbert_studio.evaluation.measures.by_group.evaluate_by_group`."""
        from ..measures.by_group import evaluate_by_group

        return evaluate_by_group(vectors[0], vectors[1], cast("np.ndarray", examples.targets), examples.groups, by)

    def judge_scores(self, examples: Examples, scores: np.ndarray, classes: tuple[str, ...]) -> Report:
        """See :func:`~sbert_studio.evaluation.measures.by_group.correlations_by_group`."""
        from ..measures.by_group import correlations_by_group

        return correlations_by_group(scores.ravel(), cast("np.ndarray", examples.targets), examples.groups)
