"""Cosine regression: the similarity itself is fitted to the score."""

from __future__ import annotations

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor

from ..base import OBJECTIVES, Objective


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
