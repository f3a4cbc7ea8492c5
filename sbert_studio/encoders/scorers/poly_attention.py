"""The score of a poly-encoder: a candidate's attention over the vectors of a query (Humeau et al. 2020, section 4.4)."""

from __future__ import annotations

import torch
from torch import Tensor

SHARPNESS = 20.0
"""What multiplies the cosines before their softmax, the inverse of its temperature."""


def attended(queries: Tensor, candidates: Tensor, sharpness: float) -> Tensor:
    """The score of each query (b, m, d) with its own candidate (b, d), all of unit length: (b,)."""
    cosines = torch.einsum("bmd,bd->bm", queries, candidates)
    # (Σᵢ wᵢ yⁱ) · y_cand = Σᵢ wᵢ (yⁱ · y_cand)
    return ((sharpness * cosines).softmax(dim=1) * cosines).sum(dim=1)


def attended_all(queries: Tensor, candidates: Tensor, sharpness: float) -> Tensor:
    """The score of every query (b, m, d) with every candidate (c, d), all of unit length: (b, c)."""
    cosines = torch.einsum("bmd,cd->bmc", queries, candidates)
    return ((sharpness * cosines).softmax(dim=1) * cosines).sum(dim=1)
