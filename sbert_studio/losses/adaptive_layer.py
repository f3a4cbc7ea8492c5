"""Adaptive layers: also train the vectors after every earlier layer, so that a model can be cut to its first layers."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from .base import KnownPositives, Loss
from .matryoshka import SHARED_ATTRIBUTES

_TEMPERATURE = 0.3


class AdaptiveLayerLoss(Loss):
    """L(last) + mean_l L(layer l) + τ Σ_l KL(softmax(v_last / τ) ‖ softmax(v_l / τ)), τ = 0.3, l over the layers before the last one.

    The embeddings count as the first layer, and no gradient flows into v_last of the last term. Around a
    :class:`~sbert_studio.losses.matryoshka.MatryoshkaLoss`, this is 2D Matryoshka learning.
    Source: Li, Li, Li, Xie and Li 2024, arXiv:2402.14776, sections 3.2 and 3.3, as in sentence-transformers' ``AdaptiveLayerLoss`` with
    all layers in each step.

    Args:
        inner: the loss on the vectors of one layer.
        layers: number of layers, including the embeddings.
    """

    def __init__(self, inner: Loss, layers: int) -> None:
        super().__init__(dim=inner.dim)
        self.inner: Loss = inner
        self.layers = layers
        for attribute in SHARED_ATTRIBUTES:
            setattr(self, attribute, getattr(inner, attribute))

    def set_known_positives(self, relation: KnownPositives) -> None:
        self.inner.set_known_positives(relation)

    @property
    def initializes_head(self) -> bool:
        return self.inner.initializes_head

    def initialize_head(self, columns: Sequence[Tensor], targets: Tensor | None) -> None:
        self.inner.initialize_head(columns, targets)

    def compute(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        count = len(columns) // self.layers
        *earlier, last = (columns[start : start + count] for start in range(0, len(columns), count))
        wanted = F.softmax(torch.cat(list(last)) / _TEMPERATURE, dim=-1).detach()
        loss = self.inner.compute(last, targets, ids)
        for layer in earlier:
            found = F.log_softmax(torch.cat(list(layer)) / _TEMPERATURE, dim=-1)
            divergence = F.kl_div(found, wanted, reduction="batchmean")
            loss = loss + self.inner.compute(layer, targets, ids) / len(earlier) + _TEMPERATURE * divergence
        return loss
