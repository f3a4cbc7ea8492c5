"""Cosine regression, alone and combined with CoSENT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from ..registry import setting
from .base import OBJECTIVES, Objective
from .cosent import ranking_loss


@OBJECTIVES.register("cosine+cosent")
class CosineAndCoSENT(Objective):
    """w · mean (cos(u, v) − t)² + CoSENT with λ. Regression keeps the cosines where the scores are; CoSENT sharpens their order."""

    title = "Cosine regression + CoSENT"
    summary = "Fits the scores and their order at once; the strongest here on a few thousand scored pairs."
    kinds = ("scored_pairs", "labelled_pairs")
    whole_batch = True
    ranks = True

    @dataclass(frozen=True)
    class Params:
        """w and λ."""

        cosine_weight: float = setting(5.0, "Weight of the regression beside CoSENT.", min=0, max=100, step=0.5)
        scale: float = setting(20.0, "λ: how sharply a pair in the wrong order is punished.", min=1, max=100, step=1)

    def loss(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        """Columns: the two sides of the pairs."""
        assert targets is not None
        similarities = self.alike(columns[0], columns[1])
        regression = F.mse_loss(similarities, self.graded(targets, similarities))
        weight: float = self.params.cosine_weight
        return weight * regression + ranking_loss(self.params.scale * similarities, targets)


@OBJECTIVES.register("cosine")
class Cosine(Objective):
    """mean (cos(u, v) − t)², t in 0..1.

    Source: Reimers and Gurevych 2019, section 3, "Regression Objective Function". Class ids are spread over 0..1 in order.
    """

    title = "Cosine regression"
    summary = "Fits the cosine of each pair to its score, by mean squared error."
    kinds = ("scored_pairs", "labelled_pairs")

    def loss(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        """Columns: the two sides of the pairs."""
        similarities = self.alike(columns[0], columns[1])
        return F.mse_loss(similarities, self.graded(targets, similarities))
