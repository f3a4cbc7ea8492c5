"""Supervised contrastive beside a learned prototype of each category: siblings draw each other, and all of a category one point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...errors import StudioError
from ...registry import setting
from ..base import OBJECTIVES
from ..similarity import unit
from .siblings import SiblingObjective
from .supcon import supervised_contrastive


@OBJECTIVES.register("supcon+prototypes")
class SupConAndPrototypes(SiblingObjective):
    """SupCon with τ + w · mean_i −log softmax_c (cos(z_i, p_c) / τ_p) at i's own class.

    A batch shows few of many classes; the prototypes p_c stand for all of them at every step. They begin as the mean of the untuned
    vectors of their class, are trained with the encoder, and then dropped. Sources: Khosla et al. 2020, arXiv:2004.11362, equation 2;
    Wang et al. 2017, arXiv:1704.06369 (NormFace), section 3, the softmax over scaled cosines with one vector a class.
    """

    title = "Supervised contrastive + prototypes"
    summary = "Draws texts of one category to each other and to a point of their own; the strongest here on texts with a category."

    @dataclass(frozen=True)
    class Params:
        """τ, w and τ_p."""

        temperature: float = setting(
            0.07, "τ: the smaller, the more the nearest texts of other categories count.", min=0.005, max=1, step=0.005
        )
        prototype_weight: float = setting(1.0, "Weight of the prototypes beside the siblings.", min=0, max=100, step=0.1)
        prototype_temperature: float = setting(
            0.1, "τ of the prototypes: the smaller, the more the nearest other categories count.", min=0.005, max=1, step=0.005
        )

    def __init__(self, params: Any = None, dim: int = 0, labels: int = 0) -> None:
        super().__init__(params, dim, labels)
        if labels < 2:
            raise StudioError("prototypes need at least two different categories", "choose the column of categories")
        self.prototypes = nn.Parameter(torch.randn(labels, dim))

    @property
    def probes(self) -> bool:
        """Always: without the means, random points would draw the texts at first."""
        return True

    def begin(self, columns: Sequence[Tensor], targets: Tensor | None) -> None:
        """Each prototype is the mean direction of its class; one without a text keeps its random direction."""
        assert targets is not None  # there is no such kind of examples
        sums = torch.zeros_like(self.prototypes).index_add_(0, targets.long(), unit(columns[0]).to(self.prototypes.dtype))
        known = sums.norm(dim=1, keepdim=True) > 0
        with torch.no_grad():
            self.prototypes.copy_(unit(torch.where(known, sums, self.prototypes)))

    def loss(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        """Columns: one, the texts. Targets: (b,) class ids."""
        assert targets is not None  # forward has refused it
        vectors, params = unit(columns[0]), self.params
        cosines = vectors @ unit(self.prototypes.to(vectors.dtype)).T
        apart: Tensor = F.cross_entropy(cosines / params.prototype_temperature, targets.long())
        weight: float = params.prototype_weight
        return supervised_contrastive(vectors, targets, ids, params.temperature) + weight * apart
