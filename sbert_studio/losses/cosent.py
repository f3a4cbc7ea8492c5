"""CoSENT: pairs with the higher target should have the larger cosine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..data.schema.roles import Kind
from ..registry import setting
from .base import LOSSES, Loss


@LOSSES.register("cosent")
class CoSENTLoss(Loss):
    """log(1 + Σ exp λ(cos(k, l) − cos(i, j))) over all pairs (i, j) with a higher target than (k, l).

    Source: Su 2022, "CoSENT (1)", kexue.fm/archives/8847, the general ranking form for 0/1 labels, ordered classes and scores.
    """

    title = "CoSENT"
    summary = "Ranks the pairs of a batch by their scores; the default for 0/1 labels and ordered classes."
    source = "Su 2022"
    kinds: tuple[Kind, ...] = ("scored_pairs", "labelled_pairs")
    whole_batch = True
    ranks = True

    @dataclass(frozen=True)
    class Params:
        scale: float = setting(20.0, "λ: how strongly pairs in the wrong order are penalized.", min=1, max=100, step=1)

    def compute(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        assert targets is not None
        return ranking_loss(self.params.scale * self.pair_scores(columns[0], columns[1]), targets)


def ranking_loss(scores: Tensor, targets: Tensor) -> Tensor:
    """Return log(1 + Σ exp(s_j − s_i)) over all i, j with targets t_i > t_j, in O(b log b) time and O(b) memory.

    The sum is Σ_i exp(−s_i) · Σ_{t_j < t_i} exp(s_j): sorted by target, the inner sum is a prefix sum. Equal targets are not compared;
    without two different targets the loss is 0.

    Args:
        scores: (b,), larger for more similar.
        targets: (b,), any ordered values.
    """
    targets, order = targets.sort()
    scores = scores[order]
    lower = torch.searchsorted(targets, targets)  # for each i, how many have a strictly lower target
    nothing = scores.new_full((1,), -torch.inf)
    below = torch.cat([nothing, scores.logcumsumexp(0)])[lower]
    return torch.cat([scores.new_zeros(1), below - scores]).logsumexp(0)
