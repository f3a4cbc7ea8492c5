"""AnglE: CoSENT's ranking on an angle in complex space, where the gradient does not fade as the cosine nears ±1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..registry import setting
from .base import OBJECTIVES, Objective
from .cosent import ranking_loss
from .similarity import cosine, unit

_POSITIVE = 0.6 - 1e-6  # the targets of positive pairs, as in the conversions of scored pairs


@OBJECTIVES.register("angle")
class AnglE(Objective):
    """w₁ L_cos + w₂ L_ibn + L_angle; w₁ and w₂ are 0 unless set, which leaves the angle alone, as sentence-transformers has it.

    With (i, j) any pair of a higher target than (k, l):
    L_cos = log(1 + Σ exp λ(cos(k, l) − cos(i, j))), which is CoSENT;
    L_ibn = mean over the positive pairs i of −log (exp λ cos(x_i, y_i) / Σ_j exp λ cos(x_i, y_j)), j all pairs of the batch;
    L_angle = log(1 + Σ exp λ(Δ(k, l) − Δ(i, j))), Δ the angle similarity below.

    Source: Li and Li 2024, arXiv:2309.12871, section 3: cosine, in-batch negative and angle objective, and their weighted sum, with
    1/τ as λ, one λ for all three. The paper sums L_ibn over the pairs; here it is a mean, as in the authors' own code.
    """

    title = "AnglE"
    summary = "CoSENT on angles in complex space instead of cosines; learns on where cosines saturate."
    kinds = ("scored_pairs", "labelled_pairs")
    whole_batch = True
    ranks = True

    @dataclass(frozen=True)
    class Params:
        """λ, w₁ and w₂."""

        scale: float = setting(20.0, "λ: how sharply a pair in the wrong order is punished.", min=1, max=100, step=1)
        cosine_weight: float = setting(0.0, "w₁: CoSENT's term beside the angle's; 1 in the paper.", min=0, max=100, step=0.5)
        in_batch_weight: float = setting(
            0.0, "w₂: each positive pair among the others of its batch, beside the angle's term; 1 in the paper.", min=0, max=100, step=0.5
        )

    def __init__(self, params: Any = None, dim: int = 0, labels: int = 0) -> None:
        super().__init__(params, dim, labels)
        self.in_batch = self.params.in_batch_weight > 0

    def loss(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        """Columns: the two sides of the pairs."""
        assert targets is not None
        params, (u, v) = self.params, columns
        loss = ranking_loss(params.scale * angle_similarity(u, v), targets)
        if params.cosine_weight:
            loss = loss + params.cosine_weight * ranking_loss(params.scale * cosine(u, v), targets)
        if params.in_batch_weight:
            positive = self.graded(targets, u) >= _POSITIVE
            loss = loss + params.in_batch_weight * positives_in_batch(u, v, positive, ids, params.scale)
        return loss


def angle_similarity(u: Tensor, v: Tensor) -> Tensor:
    """|Σ (Re + Im) of z·w̄| / (‖z‖ ‖w‖), where the first half of a row is the real and the second the imaginary part of z (w).

    Rows of odd width are padded with a zero. (b, dim), (b, dim) → (b,).
    """
    if u.shape[-1] % 2:
        u, v = F.pad(u, (0, 1)), F.pad(v, (0, 1))
    (a, b), (c, d) = unit(u).chunk(2, dim=-1), unit(v).chunk(2, dim=-1)
    # (a + bi)(c − di) = ac + bd + (bc − ad)i
    return (a * c + b * d + b * c - a * d).sum(-1).abs()


def positives_in_batch(u: Tensor, v: Tensor, positive: Tensor, ids: Sequence[Tensor] | None, scale: float) -> Tensor:
    """Cross-entropy of each positive pair's second side among those of all pairs, by scaled cosine; 0 without a positive pair.

    Args:
        u, v: the two sides, (b, dim).
        positive: (b,) bool.
        ids: of both sides, (b,) each, equal for equal texts. A candidate that says the same as the anchor or as its partner, or
            that another positive pair gives the same anchor, is no negative and is left out.
        scale: the inverse of the temperature.
    """
    scores = scale * unit(u) @ unit(v).T
    if ids is not None:
        first, second = ids
        same = (second == first[:, None]) | (second == second[:, None]) | ((first == first[:, None]) & positive)
        scores = scores.masked_fill(same.fill_diagonal_(False), -torch.inf)
    rows = positive.nonzero().squeeze(1)
    return F.cross_entropy(scores[rows], rows) if len(rows) else scores.new_zeros(()) * u.sum()
