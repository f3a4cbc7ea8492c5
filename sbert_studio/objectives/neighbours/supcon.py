"""Supervised contrastive: every text of a class is a positive of every other one, and the texts of other classes are negatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ...registry import setting
from ..base import OBJECTIVES
from ..similarity import unit
from .siblings import SiblingObjective, relations


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
