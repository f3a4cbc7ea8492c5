"""AnglE: CoSENT's ranking on angles in complex space, where the gradient does not vanish as the cosine approaches ±1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..data.schema.roles import Kind
from ..registry import setting
from .base import LOSSES, Loss, cosine, unit
from .cosent import ranking_loss
from .multiple_negatives_ranking import ranking_cross_entropy

_POSITIVE = 0.6 - 1e-6  # minimum target of a positive pair, as in the conversions of scored pairs


@LOSSES.register("angle")
class AnglELoss(Loss):
    """w₁ L_cos + w₂ L_ibn + L_angle; w₁ and w₂ default to 0, as in sentence-transformers.

    Over pairs (i, j) with a higher target than (k, l):
    L_cos = log(1 + Σ exp λ(cos(k, l) − cos(i, j))), which is CoSENT;
    L_ibn = mean over the positive pairs i of −log (exp λ cos(x_i, y_i) / Σ_j exp λ cos(x_i, y_j)), j over all pairs of the batch;
    L_angle = log(1 + Σ exp λ(Δ(k, l) − Δ(i, j))), where Δ is :func:`angle_similarity`.
    Source: Li and Li 2024, arXiv:2309.12871, section 3, with λ = 1/τ for all three terms. The paper sums L_ibn over the pairs; here it is a
    mean, as in the authors' code.
    """

    title = "AnglE"
    summary = "CoSENT on angles in complex space instead of cosines; its gradient does not vanish where cosines saturate."
    source = "Li & Li 2024, section 3"
    kinds: tuple[Kind, ...] = ("scored_pairs", "labelled_pairs")
    whole_batch = True
    ranks = True

    @dataclass(frozen=True)
    class Params:
        scale: float = setting(20.0, "λ: how strongly pairs in the wrong order are penalized.", min=1, max=100, step=1)
        cosine_weight: float = setting(0.0, "w₁: weight of the CoSENT term; 1 in the paper.", min=0, max=100, step=0.5)
        in_batch_weight: float = setting(0.0, "w₂: weight of the in-batch negatives term; 1 in the paper.", min=0, max=100, step=0.5)

    def __init__(self, params: Any = None, dim: int = 0, labels: int = 0) -> None:
        super().__init__(params, dim, labels)
        self.in_batch = self.params.in_batch_weight > 0

    def compute(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        assert targets is not None
        params, (u, v) = self.params, columns
        loss = ranking_loss(params.scale * angle_similarity(u, v), targets)
        if params.cosine_weight:
            loss = loss + params.cosine_weight * ranking_loss(params.scale * cosine(u, v), targets)
        if params.in_batch_weight:
            positive = self.as_similarities(targets, u) >= _POSITIVE
            loss = loss + params.in_batch_weight * in_batch_negatives_loss(u, v, positive, ids, params.scale)
        return loss


def angle_similarity(u: Tensor, v: Tensor) -> Tensor:
    """Return |Σ (Re + Im) of z·w̄| / (‖z‖ ‖w‖), (b, dim), (b, dim) → (b,).

    The first half of a row is the real part of z (w), the second half the imaginary part. Rows of odd width are zero-padded.
    """
    if u.shape[-1] % 2:
        u, v = F.pad(u, (0, 1)), F.pad(v, (0, 1))
    (a, b), (c, d) = unit(u).chunk(2, dim=-1), unit(v).chunk(2, dim=-1)
    # (a + bi)(c − di) = ac + bd + (bc − ad)i
    return (a * c + b * d + b * c - a * d).sum(-1).abs()


def in_batch_negatives_loss(u: Tensor, v: Tensor, positive: Tensor, ids: Sequence[Tensor] | None, scale: float) -> Tensor:
    """Compute the cross-entropy of each positive pair's second text among those of the batch, by scaled cosine; 0 without positive pairs.

    Candidates equal to the anchor or to its positive, and positives of the same anchor in other rows, are masked.

    Args:
        u, v: embeddings of the two texts, (b, dim).
        positive: (b,) bool.
        ids: text ids of both columns, (b,) each; ``None``: nothing is masked.
        scale: inverse temperature.
    """
    scores = scale * unit(u) @ unit(v).T
    if ids is not None:
        first, second = ids
        false_negatives = (second == first[:, None]) | (second == second[:, None]) | ((first == first[:, None]) & positive)
        scores = scores.masked_fill(false_negatives.fill_diagonal_(False), -torch.inf)
    return ranking_cross_entropy(scores, None, rows=positive)
