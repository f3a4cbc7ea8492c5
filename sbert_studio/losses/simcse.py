"""SimCSE: contrastive learning with dropout as the only augmentation, or with NLI entailments and contradictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..data.schema.roles import Kind
from ..registry import setting
from .base import LOSSES, Loss
from .multiple_negatives_ranking import ranking_cross_entropy


@LOSSES.register("simcse")
class SimCSELoss(Loss):
    """mean_i −log (exp(cos(h_i, h'_i) / τ) / Σ_j exp(cos(h_i, h'_j) / τ)); h and h' are two passes of a text with different dropout.

    Source: Gao, Yao and Chen 2021, arXiv:2104.08821, equation 4.
    """

    title = "SimCSE, unsupervised"
    summary = "Needs only sentences: each is encoded twice with dropout and should match itself within the batch."
    kinds: tuple[Kind, ...] = ("sentences",)
    views = 2
    in_batch = True
    whole_batch = True
    needs_targets = False

    @dataclass(frozen=True)
    class Params:
        temperature: float = setting(0.05, "τ: smaller is sharper.", min=0.005, max=1, step=0.005)

    def compute(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        scores = 1 / self.params.temperature * self.score_matrix(columns[0], torch.cat(list(columns[1:])))
        return ranking_cross_entropy(scores, ids, self.known_positives)


@LOSSES.register("simcse_supervised")
class SupervisedSimCSELoss(SimCSELoss):
    """mean_i −log (exp(cos(h_i, h_i⁺) / τ) / Σ_j (exp(cos(h_i, h_j⁺) / τ) + exp(cos(h_i, h_j⁻) / τ))).

    Source: Gao, Yao and Chen 2021, arXiv:2104.08821, equation 5.
    """

    title = "SimCSE, supervised"
    summary = "In-batch negatives at SimCSE's temperature, for NLI triplets: premise, entailment, contradiction."
    kinds = ("triplets", "positive_pairs")
    views = 1
