"""What a poly-encoder learns by: the objectives of vectors whose similarity is one number, on its score of a pair in the cosine's place.

Humeau et al. 2020, section 4.4, train it as their bi-encoder: by the cross-entropy of each pair among the candidates of its batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from ..models.poly_encoder import SHARPNESS, attended, attended_all
from ..registry import Registry, parse_params
from .base import Objective, Relation
from .cosent import CoSENT
from .cosine import Cosine, CosineAndCoSENT
from .multiple_negatives_ranking import InBatch

POLY_OBJECTIVES: Registry[Objective] = Registry("objective of a poly-encoder")


class OfRows(Objective):
    """A similarity of rows that hold a text both as a query, in m vectors, and as a candidate, in one.

    Attributes:
        codes: m.
        sharpness: of the candidate's attention over the query's vectors.
    """

    codes: int = 1
    sharpness: float = SHARPNESS

    def alike(self, left: Tensor, right: Tensor) -> Tensor:
        """The score of each pair: rows (b, (m + 1) · d) of queries and of candidates → (b,)."""
        return attended(self._queries(left), self._candidates(right), self.sharpness)

    def all_alike(self, anchors: Tensor, candidates: Tensor) -> Tensor:
        """The score of every query with every candidate: (a, c)."""
        return attended_all(self._queries(anchors), self._candidates(candidates), self.sharpness)

    def _queries(self, rows: Tensor) -> Tensor:
        return rows.view(len(rows), self.codes + 1, -1)[:, :-1]

    def _candidates(self, rows: Tensor) -> Tensor:
        return rows.view(len(rows), self.codes + 1, -1)[:, -1]


@POLY_OBJECTIVES.register("in_batch")
class PolyInBatch(OfRows, InBatch):
    """The cross-entropy of each query's own candidate among those of the whole batch, hard negatives with them.

    Of pairs with labels the queries of those with the highest one look for their candidates; the texts of the others are candidates too.
    """

    kinds = ("positive_pairs", "triplets", "labelled_pairs")

    def know(self, relation: Relation) -> None:
        """Take note of which texts belong together, unless there are labels: rows that these hold apart would count as together."""
        if self.labels < 2:
            super().know(relation)

    def loss(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        """Columns: queries, candidates, then any number of columns of hard negatives."""
        return self.of_rows(columns, ids, None if targets is None else targets == self.labels - 1)


@POLY_OBJECTIVES.register("cosine")
class PolyCosine(OfRows, Cosine):
    """mean (s − t)², s the score of the pair, t in 0..1."""

    title = "Regression"
    summary = "Fits the score of each pair, by mean squared error."


@POLY_OBJECTIVES.register("cosent")
class PolyCoSENT(OfRows, CoSENT):
    """log(1 + Σ exp λ(s(k, l) − s(i, j))) over all pairs (i, j) of higher target than (k, l), s the score."""


@POLY_OBJECTIVES.register("cosine+cosent")
class PolyCosineAndCoSENT(OfRows, CosineAndCoSENT):
    """w · mean (s − t)² + CoSENT on s with λ."""

    title = "Regression + CoSENT"


def build_poly_objective(
    name: str, values: Mapping[str, Any], *, dim: int, codes: int, labels: int = 0, sharpness: float = SHARPNESS
) -> Objective:
    """The registered objective ``name`` with ``values`` for its ``Params``.

    Args:
        dim: the width of a row.
        codes: m.

    Raises:
        StudioError: an unknown name or setting, or a value out of bounds.
    """
    chosen: Any = POLY_OBJECTIVES[name]
    made: OfRows = chosen(parse_params(chosen.Params, values), dim, labels)
    made.codes, made.sharpness = codes, sharpness
    return made
