"""Triplet loss, and batch-hard triplets mined within the batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from ..data.schema.roles import Kind
from ..registry import setting
from .base import DISTANCES, LOSSES, Loss, unit
from .supcon import CategoryLoss, category_masks


@LOSSES.register("batch_hard")
class BatchHardTripletLoss(CategoryLoss):
    """mean_i max(ε + max_p d(i, p) − min_n d(i, n), 0), or with a soft margin mean_i log(1 + exp(max_p d(i, p) − min_n d(i, n))).

    p are the other texts of i's class in the batch, n those of other classes, neither equal to i; the mean is over texts with both.
    Source: Hermans, Beyer and Leibe 2017, arXiv:1703.07737, equation 5, and section 2.2 on the soft margin; a sum there, a mean here.
    """

    title = "Batch-hard triplets"
    summary = "Pulls each text closer to the farthest text of its category than to the nearest text of another category in the batch."
    source = "Hermans et al. 2017, equation 5"

    @dataclass(frozen=True)
    class Params:
        distance: str = setting("cosine", "Distance measure.", choices=("cosine", "euclidean"))
        margin: float = setting(0.2, "ε: margin between the farthest positive and the nearest negative.", min=0, max=100, step=0.05)
        soft_margin: bool = setting(False, "Use a soft margin instead of ε, so that easy triplets still contribute a little.")

    def compute(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        assert targets is not None
        distances = pairwise_distances(columns[0], self.params.distance)
        positives, negatives = category_masks(targets, ids)
        both = positives.any(dim=1) & negatives.any(dim=1)
        if not both.any():
            return distances.sum() * 0
        farthest = distances.masked_fill(~positives, -torch.inf).amax(dim=1)[both]
        nearest = distances.masked_fill(~negatives, torch.inf).amin(dim=1)[both]
        gap = farthest - nearest
        return (F.softplus(gap) if self.params.soft_margin else F.relu(gap + self.params.margin)).mean()


def pairwise_distances(vectors: Tensor, distance: str) -> Tensor:
    """Return the ``cosine`` or ``euclidean`` distance of every pair of rows, (b, dim) → (b, b); no gradient for equal rows."""
    if distance == "cosine":
        rows = unit(vectors)
        return 1 - rows @ rows.T
    return torch.cdist(vectors, vectors, compute_mode="donot_use_mm_for_euclid_dist")


@LOSSES.register("triplet")
class TripletLoss(Loss):
    """mean max(‖a − p‖ − ‖a − n‖ + ε, 0), over the rows and, if there are several, over the negatives.

    Source: Reimers and Gurevych 2019, section 3, "Triplet Objective Function" (Euclidean distance, ε = 1).
    """

    title = "Triplet"
    summary = "Pulls the positive closer to the anchor than each negative, by a margin."
    source = "Reimers & Gurevych 2019, section 3"
    kinds: tuple[Kind, ...] = ("triplets",)
    needs_targets = False

    @dataclass(frozen=True)
    class Params:
        distance: str = setting("euclidean", "Distance measure.", choices=tuple(DISTANCES))
        margin: float = setting(1.0, "ε: margin by which the positive should be closer than each negative.", min=0, max=100, step=0.1)

    def compute(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        anchor, positive, *negatives = columns
        distance = DISTANCES[self.params.distance]
        near = distance(anchor, positive)
        return torch.stack([F.relu(near - distance(anchor, negative) + self.params.margin) for negative in negatives]).mean()
