"""Contrastive losses, which pull similar pairs together and push dissimilar pairs apart up to a margin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from ..data.schema.roles import Kind
from ..registry import setting
from .base import DISTANCES, LOSSES, Loss


@LOSSES.register("contrastive")
class ContrastiveLoss(Loss):
    """mean ½ (t d² + (1 − t) max(m − d, 0)²), where d is the distance of the pair and t in [0, 1].

    Source: Hadsell, Chopra and LeCun 2006, equation 4 (there Y = 1 − t).
    """

    title = "Contrastive"
    summary = "Pulls similar pairs together and pushes dissimilar ones apart up to a margin."
    source = "Hadsell et al. 2006, equation 4"
    kinds: tuple[Kind, ...] = ("labelled_pairs", "scored_pairs")

    @dataclass(frozen=True)
    class Params:
        distance: str = setting("cosine", "Distance measure.", choices=tuple(DISTANCES))
        margin: float = setting(0.5, "Minimum distance of dissimilar pairs.", min=0, max=100, step=0.05)

    def compute(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        distances = DISTANCES[self.params.distance](columns[0], columns[1])
        similar = self.as_similarities(targets, distances)
        apart = F.relu(self.params.margin - distances)
        return 0.5 * (similar * distances**2 + (1 - similar) * apart**2).mean()


@LOSSES.register("online_contrastive")
class OnlineContrastiveLoss(ContrastiveLoss):
    """Σ d² over the hard similar pairs + Σ max(m − d, 0)² over the hard dissimilar ones.

    Hard pairs are similar pairs farther apart than the nearest dissimilar pair of the batch, and dissimilar pairs nearer than the farthest
    similar pair; if a batch has only one kind of pairs, those beyond the mean. Classes above the middle of the label order count as
    similar. Source: sentence-transformers' OnlineContrastiveLoss.
    """

    title = "Online contrastive"
    summary = "Contrastive loss on the hard pairs of each batch only."
    source = "sentence-transformers"
    kinds: tuple[Kind, ...] = ("labelled_pairs",)
    whole_batch = True
    ranks = True

    def compute(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        distances = DISTANCES[self.params.distance](columns[0], columns[1])
        similar = self.as_similarities(targets, distances) > 0.5
        mean = distances.mean()
        nearest = torch.where(similar.all(), mean, distances.masked_fill(similar, torch.inf).min())
        farthest = torch.where(similar.any(), distances.masked_fill(~similar, -torch.inf).max(), mean)
        hard_similar = similar & (distances > nearest)
        hard_dissimilar = ~similar & (distances < farthest)
        apart = F.relu(self.params.margin - distances)
        return (distances**2 * hard_similar + apart**2 * hard_dissimilar).sum()
