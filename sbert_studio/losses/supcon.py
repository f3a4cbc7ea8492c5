"""Supervised contrastive losses (Khosla et al. 2020), with and without learned class prototypes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..errors import StudioError
from ..registry import setting
from .base import OBJECTIVES, Objective
from .similarity import unit

if TYPE_CHECKING:
    from ..data.examples import Kind


class SiblingObjective(Objective):
    """A loss on texts with a category: all pairs of a batch are looked at, so that a batch holds several texts of several categories."""

    kinds: tuple[Kind, ...] = ("labelled_texts",)
    in_batch = True
    classes_in_batch = True
    whole_batch = True


def relations(targets: Tensor, ids: Sequence[Tensor] | None) -> tuple[Tensor, Tensor]:
    """Who is what to whom in a batch of b texts.

    Args:
        targets: (b,) class ids.
        ids: of the one column, (b,), equal for equal texts.

    Returns:
        ``siblings``, (b, b) bool: another text of the same class; ``others``: a text of another class. Neither holds a text itself, nor
        one that says the same.
    """
    same_class = targets == targets[:, None]
    same_text = torch.eye(len(targets), dtype=torch.bool, device=targets.device)
    if ids is not None:
        same_text |= ids[0] == ids[0][:, None]
    return same_class & ~same_text, ~same_class & ~same_text


@OBJECTIVES.register("supcon")
class SupervisedContrastive(SiblingObjective):
    """mean_i −1/|P(i)| Σ_{p ∈ P(i)} log (exp(cos(z_i, z_p) / τ) / Σ_{a ∈ A(i)} exp(cos(z_i, z_a) / τ)).

    P(i) are the other texts of i's class in the batch, A(i) all other texts of the batch; the mean goes over the texts that have a
    sibling. A text that says the same as i is in neither. Source: Khosla et al. 2020, arXiv:2004.11362, equation 2 (L_out), which
    sums over i; a mean, as in the authors' own code, leaves the rate independent of the batch.
    """

    title = "Supervised contrastive"
    summary = "Draws texts of one category together and those of other categories apart, all pairs of a batch at once."

    @dataclass(frozen=True)
    class Params:
        """τ."""

        temperature: float = setting(
            0.07, "τ: the smaller, the more the nearest texts of other categories count.", min=0.005, max=1, step=0.005
        )

    def loss(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        """Columns: one, the texts. Targets: (b,) class ids."""
        assert targets is not None  # forward has refused it
        return supervised_contrastive(unit(columns[0]), targets, ids, self.params.temperature)


def supervised_contrastive(vectors: Tensor, targets: Tensor, ids: Sequence[Tensor] | None, temperature: float) -> Tensor:
    """The loss of unit ``vectors`` (b, dim) of the classes ``targets`` (b,); 0, with a gradient of 0, where no text has a sibling."""
    siblings, others = relations(targets, ids)
    scores = (vectors @ vectors.T / temperature).masked_fill(~(siblings | others), -torch.inf)
    count = siblings.sum(dim=1)
    known = count > 0
    if not known.any():
        return vectors.sum() * 0
    logs = torch.log_softmax(scores[known], dim=1)
    per_text = -logs.masked_fill(~siblings[known], 0).sum(dim=1) / count[known]
    return per_text.mean()


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
