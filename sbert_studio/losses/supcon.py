"""Supervised contrastive losses (Khosla et al. 2020), with and without learned class prototypes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..data.schema.roles import Kind
from ..errors import StudioError
from ..registry import setting
from .base import LOSSES, Loss, unit


class CategoryLoss(Loss):
    """Loss on texts with a category, over all pairs of a batch with several texts of several categories."""

    kinds: tuple[Kind, ...] = ("labelled_texts",)
    in_batch = True
    classes_in_batch = True
    whole_batch = True


def category_masks(targets: Tensor, ids: Sequence[Tensor] | None) -> tuple[Tensor, Tensor]:
    """Return the masks of positives (other texts of the same class) and negatives (of other classes) in a batch, each (b, b) bool.

    Neither includes the text itself or an equal text, as identified by the text ids of the column.
    """
    same_class = targets == targets[:, None]
    same_text = torch.eye(len(targets), dtype=torch.bool, device=targets.device)
    if ids is not None:
        same_text |= ids[0] == ids[0][:, None]
    return same_class & ~same_text, ~same_class & ~same_text


@LOSSES.register("supcon")
class SupConLoss(CategoryLoss):
    """mean_i −1/|P(i)| Σ_{p ∈ P(i)} log (exp(cos(z_i, z_p) / τ) / Σ_{a ∈ A(i)} exp(cos(z_i, z_a) / τ)).

    P(i) are the other texts of i's class in the batch, A(i) all other texts of the batch; texts equal to i are in neither. The mean is over
    texts with a positive; without any, the loss is 0. Source: Khosla et al. 2020, arXiv:2004.11362, equation 2 (L_out), which sums over i;
    the mean, as in the authors' code, makes the learning rate independent of the batch size.
    """

    title = "Supervised contrastive"
    summary = "Pulls texts of one category together and pushes other categories apart, over all pairs of a batch."
    source = "Khosla et al. 2020, equation 2"

    @dataclass(frozen=True)
    class Params:
        temperature: float = setting(
            0.07, "τ: smaller values emphasize the nearest texts of other categories.", min=0.005, max=1, step=0.005
        )

    def compute(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        assert targets is not None
        vectors = unit(columns[0])
        positives, negatives = category_masks(targets, ids)
        scores = (vectors @ vectors.T / self.params.temperature).masked_fill(~(positives | negatives), -torch.inf)
        count = positives.sum(dim=1)
        known = count > 0
        if not known.any():
            return vectors.sum() * 0
        logs = torch.log_softmax(scores[known], dim=1)
        per_text = -logs.masked_fill(~positives[known], 0).sum(dim=1) / count[known]
        return per_text.mean()


@LOSSES.register("supcon+prototypes")
class PrototypeSupConLoss(SupConLoss):
    """SupCon with τ + w · mean_i −log softmax_c (cos(z_i, p_c) / τ_p) at i's own class.

    If there are many classes, a batch contains only a few of them; the prototypes p_c represent all of them at every step. They are
    initialized to the mean of the base model's embeddings of their class, trained with the encoder, and then discarded. Sources: Khosla et
    al. 2020, arXiv:2004.11362, equation 2; Wang et al. 2017, arXiv:1704.06369 (NormFace), section 3, softmax over scaled cosines with one
    vector per class.
    """

    title = "Supervised contrastive + prototypes"
    summary = (
        "Pulls texts of the same category toward each other and toward a learned prototype; most accurate in our "
        "measurements on texts with a category."
    )
    source = "Khosla et al. 2020, equation 2; Wang et al. 2017, section 3"

    @dataclass(frozen=True)
    class Params(SupConLoss.Params):
        prototype_weight: float = setting(1.0, "Weight of the prototype term relative to SupCon.", min=0, max=100, step=0.1)
        prototype_temperature: float = setting(
            0.1, "τ of the prototypes: smaller values emphasize the nearest other categories.", min=0.005, max=1, step=0.005
        )

    def __init__(self, params: Any = None, dim: int = 0, labels: int = 0) -> None:
        super().__init__(params, dim, labels)
        if labels < 2:
            raise StudioError("prototypes need at least two different categories", "choose the category column")
        self.prototypes = nn.Parameter(torch.randn(labels, dim))

    @property
    def initializes_head(self) -> bool:
        return True

    def initialize_head(self, columns: Sequence[Tensor], targets: Tensor | None) -> None:
        assert targets is not None
        sums = torch.zeros_like(self.prototypes).index_add_(0, targets.long(), unit(columns[0]).to(self.prototypes.dtype))
        known = sums.norm(dim=1, keepdim=True) > 0
        with torch.no_grad():
            self.prototypes.copy_(unit(torch.where(known, sums, self.prototypes)))

    def compute(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        assert targets is not None
        vectors = unit(columns[0])
        cosines = vectors @ unit(self.prototypes.to(vectors.dtype)).T
        apart: Tensor = F.cross_entropy(cosines / self.params.prototype_temperature, targets.long())
        weight: float = self.params.prototype_weight
        return super().compute(columns, targets, ids) + weight * apart
