"""Contrastive losses: similar pairs are drawn together, others pushed apart up to a margin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from ..registry import setting
from .base import OBJECTIVES, Objective
from .similarity import DISTANCES

if TYPE_CHECKING:
    from ..data.examples import Kind


@OBJECTIVES.register("contrastive")
class Contrastive(Objective):
    """mean ½ (t d² + (1 − t) max(m − d, 0)²), d the distance of the pair, t in 0..1.

    Source: Hadsell, Chopra and LeCun 2006, equation 4 (there Y = 1 − t).
    """

    title = "Contrastive"
    summary = "Draws similar pairs together and pushes the others apart up to a margin."
    kinds: tuple[Kind, ...] = ("labelled_pairs", "scored_pairs")

    @dataclass(frozen=True)
    class Params:
        """Distance and margin."""

        distance: str = setting("cosine", "How distance is measured.", choices=tuple(DISTANCES))
        margin: float = setting(0.5, "How far apart dissimilar pairs should be, in units of that distance.", min=0, max=100, step=0.05)

    def loss(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        """Columns: the two sides of the pairs."""
        distances = DISTANCES[self.params.distance](columns[0], columns[1])
        similar = self.graded(targets, distances)
        apart = F.relu(self.params.margin - distances)
        return 0.5 * (similar * distances**2 + (1 - similar) * apart**2).mean()


@OBJECTIVES.register("online_contrastive")
class OnlineContrastive(Contrastive):
    """Σ d² over the hard similar pairs + Σ max(m − d, 0)² over the hard dissimilar ones.

    Hard: similar pairs farther apart than the nearest dissimilar pair of the batch, dissimilar ones nearer than the farthest similar
    pair; where a batch has only one of them, those beyond their mean. A class counts as similar above the middle of the labels' order.
    Source: sentence-transformers' OnlineContrastiveLoss.
    """

    title = "Online contrastive"
    summary = "Contrastive, on the pairs of each batch that are still confused."
    kinds = ("labelled_pairs",)
    whole_batch = True
    ranks = True

    def loss(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        """Columns: the two sides of the pairs."""
        distances = DISTANCES[self.params.distance](columns[0], columns[1])
        similar = self.graded(targets, distances) > 0.5
        # A batch of one side only is compared with its own mean.
        mean = distances.mean()
        nearest = torch.where(similar.all(), mean, distances.masked_fill(similar, torch.inf).min())
        farthest = torch.where(similar.any(), distances.masked_fill(~similar, -torch.inf).max(), mean)
        hard_similar = similar & (distances > nearest)
        hard_dissimilar = ~similar & (distances < farthest)
        apart = F.relu(self.params.margin - distances)
        return (distances**2 * hard_similar + apart**2 * hard_dissimilar).sum()
