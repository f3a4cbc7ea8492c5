"""Triplet loss, and batch-hard triplets mined within the batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from ..registry import setting
from .base import OBJECTIVES, Objective
from .similarity import DISTANCES, unit
from .supcon import SiblingObjective, relations


@OBJECTIVES.register("batch_hard")
class BatchHard(SiblingObjective):
    """mean_i max(ε + max_p d(i, p) − min_n d(i, n), 0), or with a soft margin mean_i log(1 + exp(max_p d(i, p) − min_n d(i, n))).

    p are the other texts of i's class in the batch, n those of other classes; the mean goes over the texts that have both. A text that
    says the same as i is neither. Source: Hermans, Beyer and Leibe 2017, arXiv:1703.07737, equation 5, and section 2.2 on the soft
    margin; there the sum over a batch, here its mean.
    """

    title = "Batch-hard triplets"
    summary = "Draws each text nearer to the farthest of its category than to the nearest of another, in every batch."

    @dataclass(frozen=True)
    class Params:
        """Distance, ε, or a soft margin in its place."""

        distance: str = setting("cosine", "How distance is measured.", choices=("cosine", "euclidean"))
        margin: float = setting(0.2, "ε: how much nearer a sibling should be, in units of that distance.", min=0, max=100, step=0.05)
        soft_margin: bool = setting(False, "A soft margin in place of ε: pairs that are told apart still count, ever less.")

    def loss(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        """Columns: one, the texts. Targets: (b,) class ids."""
        assert targets is not None  # forward has refused it
        distances = all_distances(columns[0], self.params.distance)
        siblings, others = relations(targets, ids)
        both = siblings.any(dim=1) & others.any(dim=1)
        if not both.any():
            return distances.sum() * 0
        farthest = distances.masked_fill(~siblings, -torch.inf).amax(dim=1)[both]
        nearest = distances.masked_fill(~others, torch.inf).amin(dim=1)[both]
        gap = farthest - nearest
        return (F.softplus(gap) if self.params.soft_margin else F.relu(gap + self.params.margin)).mean()


def all_distances(vectors: Tensor, distance: str) -> Tensor:
    """The ``cosine`` or ``euclidean`` distance of every row to every other, (b, dim) → (b, b); no gradient where two rows coincide."""
    if distance == "cosine":
        rows = unit(vectors)
        return 1 - rows @ rows.T
    return torch.cdist(vectors, vectors, compute_mode="donot_use_mm_for_euclid_dist")


@OBJECTIVES.register("triplet")
class Triplet(Objective):
    """mean max(‖a − p‖ − ‖a − n‖ + ε, 0), over the rows and, where there are several, over the negatives.

    Source: Reimers and Gurevych 2019, section 3, "Triplet Objective Function" (Euclidean distance, ε = 1).
    """

    title = "Triplet"
    summary = "Draws the positive nearer to the anchor than each negative, by a margin."
    kinds = ("triplets",)
    needs_targets = False

    @dataclass(frozen=True)
    class Params:
        """Distance and ε."""

        distance: str = setting("euclidean", "How distance is measured.", choices=tuple(DISTANCES))
        margin: float = setting(1.0, "ε: how much nearer the positive should be, in units of that distance.", min=0, max=100, step=0.1)

    def loss(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        """Columns: anchors, positives, then one or more columns of negatives."""
        anchor, positive, *negatives = columns
        distance = DISTANCES[self.params.distance]
        near = distance(anchor, positive)
        return torch.stack([F.relu(near - distance(anchor, negative) + self.params.margin) for negative in negatives]).mean()
