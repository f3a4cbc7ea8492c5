"""Positive pairs: a text and its partner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import StudioError
from .base import REGISTRY, Rows, Shape, Task

if TYPE_CHECKING:
    import numpy as np

    from ...data.examples import Examples
    from ...data.progress import Progress
    from ...data.schema.roles import Roles
    from ...data.tables import Table
    from ...encoders.scorers.pair_scorer import PairScorer
    from ..classes import ClassRoles
    from ..measures.categories import Known
    from ..report import Report


@REGISTRY.register("retrieval")
class Retrieval(Task):
    """Finding the partner among all."""

    order = 5
    title = "Retrieval of the other half"
    help = "How far up a text finds its partner among all: mean reciprocal rank and nDCG within the first ten, accuracy at 1 to 10."
    kinds = ("positive_pairs",)
    main = ("mrr_at_10",)
    needs_vectors = True
    ranks_candidates = True

    def fits(self, shape: Shape) -> bool:
        """Positive pairs."""
        return shape.kind == "positive_pairs"

    def read(self, table: Table, known: Roles | ClassRoles | None = None) -> Rows:
        """See :meth:`Task.read`.

        Raises:
            StudioError: also where all rows have the same second text, so that no text could be taken for another's partner.
        """
        rows = super().read(table, known)
        if len(set(rows.examples.texts[1])) < 2:
            raise StudioError(f"every row of {table.name} has the same second text", "partners are found among several: add rows")
        return rows

    def judge_vectors(self, examples: Examples, vectors: Sequence[np.ndarray], known: Known | None = None, by: str = "cosine") -> Report:
        """See :func:`~sbert_studio.evaluation.measures.retrieval.evaluate_retrieval`."""
        from ...data.splits.siblings import siblings
        from ..measures.retrieval import evaluate_retrieval

        return evaluate_retrieval(vectors[0], vectors[1], examples.texts[0], examples.texts[1], siblings(examples), by)

    def judge_ranking(self, examples: Examples, model: PairScorer, progress: Progress | None) -> Report:
        """Whether each first text finds its own second one among all, each text read once."""
        from ...data.splits.siblings import siblings
        from ..measures.crossing import require_finite
        from ..measures.retrieval import Scored, rank_all

        encoder = model.candidates
        assert encoder is not None  # it was refused
        left, right = examples.texts[:2]

        def scorer(queries: list[int], candidates: list[int]) -> Scored:
            vectors = encoder.encode([right[row] for row in candidates], progress=progress)
            return lambda part: require_finite(model.against([left[row] for row in queries[part]], vectors))

        return rank_all(scorer, left, right, siblings(examples))
