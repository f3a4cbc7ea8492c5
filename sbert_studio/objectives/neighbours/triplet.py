"""Triplet: the positive should be nearer to the anchor than the negative, by a margin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from ...registry import setting
from ..base import OBJECTIVES, Objective
from ..similarity import DISTANCES


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
