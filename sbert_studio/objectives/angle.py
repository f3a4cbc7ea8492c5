"""AnglE: CoSENT's ranking on an angle in complex space, where the gradient does not fade as the cosine nears ±1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from ..registry import setting
from .base import OBJECTIVES, Objective
from .cosent import ranking_loss
from .similarity import unit


@OBJECTIVES.register("angle")
class AnglE(Objective):
    """log(1 + Σ exp λ(Δ(k, l) − Δ(i, j))) over all pairs (i, j) of higher target than (k, l), Δ the angle similarity below.

    Source: Li and Li 2024, arXiv:2309.12871, the angle objective alone, as sentence-transformers has it.
    """

    title = "AnglE"
    summary = "CoSENT on angles in complex space instead of cosines; learns on where cosines saturate."
    kinds = ("scored_pairs", "labelled_pairs")
    whole_batch = True

    @dataclass(frozen=True)
    class Params:
        """λ."""

        scale: float = setting(20.0, "λ: how sharply a pair in the wrong order is punished.", min=1, max=100, step=1)

    def loss(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        """Columns: the two sides of the pairs."""
        assert targets is not None
        return ranking_loss(self.params.scale * angle_similarity(columns[0], columns[1]), targets)


def angle_similarity(u: Tensor, v: Tensor) -> Tensor:
    """|Σ (Re + Im) of z·w̄| / (‖z‖ ‖w‖), where the first half of a row is the real and the second the imaginary part of z (w).

    Rows of odd width are padded with a zero. (b, dim), (b, dim) → (b,).
    """
    if u.shape[-1] % 2:
        u, v = F.pad(u, (0, 1)), F.pad(v, (0, 1))
    (a, b), (c, d) = unit(u).chunk(2, dim=-1), unit(v).chunk(2, dim=-1)
    # (a + bi)(c − di) = ac + bd + (bc − ad)i
    return (a * c + b * d + b * c - a * d).sum(-1).abs()
