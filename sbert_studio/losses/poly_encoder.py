"""Losses of poly-encoders: those of bi-encoders, with the poly-encoder's pair score instead of the cosine.

Humeau et al. 2020, section 4.4, train it like their bi-encoder: by the cross-entropy of each pair among the candidates of its batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from ..data.schema.roles import Kind
from ..models.poly_encoder import SHARPNESS, attention_score_matrix, attention_scores
from ..registry import Registry, parse_params
from .base import KnownPositives, Loss
from .cosent import CoSENTLoss
from .cosine import CosineCoSENTLoss, CosineSimilarityLoss
from .multiple_negatives_ranking import MultipleNegativesRankingLoss

POLY_ENCODER_LOSSES: Registry[Loss] = Registry("poly-encoder loss")


class PolyEncoderLoss(Loss):
    """Base of poly-encoder losses. Each row encodes a text both as a query, with m vectors, and as a candidate, with one.

    Attributes:
        codes: m.
        sharpness: λ of the candidate's attention over the query's vectors.
    """

    codes: int = 1
    sharpness: float = SHARPNESS

    def pair_scores(self, left: Tensor, right: Tensor) -> Tensor:
        return attention_scores(self._split(left)[0], self._split(right)[1], self.sharpness)

    def score_matrix(self, anchors: Tensor, candidates: Tensor) -> Tensor:
        return attention_score_matrix(self._split(anchors)[0], self._split(candidates)[1], self.sharpness)

    def _split(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        vectors = rows.view(len(rows), self.codes + 1, -1)
        return vectors[:, :-1], vectors[:, -1]


@POLY_ENCODER_LOSSES.register("in_batch")
class PolyMultipleNegativesRankingLoss(PolyEncoderLoss, MultipleNegativesRankingLoss):
    """Cross-entropy of each query's own candidate among those of the whole batch, including hard negatives.

    For labelled pairs, those with the highest label are the positives; the texts of other pairs are also candidates.
    """

    kinds: tuple[Kind, ...] = ("positive_pairs", "triplets", "labelled_pairs")

    def set_known_positives(self, relation: KnownPositives) -> None:
        if self.labels < 2:
            super().set_known_positives(relation)

    def compute(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        return self.compute_rows(columns, ids, None if targets is None else targets == self.labels - 1)


@POLY_ENCODER_LOSSES.register("cosine")
class PolyMSELoss(PolyEncoderLoss, CosineSimilarityLoss):
    """mean (s − t)², where s is the score of the pair and t in [0, 1]."""

    title = "Regression"
    summary = "Fits the score of each pair, by mean squared error."


@POLY_ENCODER_LOSSES.register("cosent")
class PolyCoSENTLoss(PolyEncoderLoss, CoSENTLoss):
    """log(1 + Σ exp λ(s(k, l) − s(i, j))) over all pairs (i, j) with a higher target than (k, l), where s is the score."""


@POLY_ENCODER_LOSSES.register("cosine+cosent")
class PolyMSECoSENTLoss(PolyEncoderLoss, CosineCoSENTLoss):
    """w · mean (s − t)² + CoSENT on s with λ, where s is the score."""

    title = "Regression + CoSENT"


def build_poly_encoder_loss(
    name: str, values: Mapping[str, Any], *, dim: int, codes: int, labels: int = 0, sharpness: float = SHARPNESS
) -> Loss:
    """Build the registered loss ``name`` with ``codes`` query vectors per row of width ``dim``."""
    chosen: Any = POLY_ENCODER_LOSSES[name]
    made: PolyEncoderLoss = chosen(parse_params(chosen.Params, values), dim, labels)
    made.codes, made.sharpness = codes, sharpness
    return made
