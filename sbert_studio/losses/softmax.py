"""Softmax classification of pairs (SBERT's objective for NLI), with a head fitted before training."""

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
from .base import LOSSES, Loss

_STEPS = 200
_DECAY = 1e-4  # weight decay, which keeps the weights finite on separable rows
CONCATENATIONS = ("u,v,|u-v|", "u,v,|u-v|,u*v", "u,v,u*v", "|u-v|,u*v", "|u-v|", "u*v", "u,v")


def fit_head(loss_fn: Loss, columns: Sequence[Tensor], targets: Tensor | None) -> None:
    """Minimize ``loss_fn`` over its own parameters with L-BFGS.

    Training starts with a fitted head, because the gradients of a random head would distort the encoder. Source: Kumar et al. 2022,
    arXiv:2202.10054, "LP-FT".
    """
    learning = list(loss_fn.parameters())
    solver = torch.optim.LBFGS(learning, max_iter=_STEPS, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        solver.zero_grad()
        lengths = torch.stack([parameter.square().sum() for parameter in learning if parameter.ndim > 1])
        loss: Tensor = loss_fn.compute(columns, targets, None) + _DECAY * lengths.sum()
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    solver.step(closure)  # type: ignore[no-untyped-call]
    for parameter in learning:
        parameter.grad = None


@LOSSES.register("softmax")
class SoftmaxLoss(Loss):
    """Cross-entropy of softmax(W (u, v, |u − v|) + b) with the class. W and b are discarded after training.

    Source: Reimers and Gurevych 2019, section 3, "Classification Objective Function"; the concatenations are those of table 6.
    """

    title = "Softmax"
    summary = "Classifies each pair from its two embeddings, as the SBERT paper does for NLI; works for unordered labels too."
    source = "Reimers & Gurevych 2019, section 3"
    kinds: tuple[Kind, ...] = ("labelled_pairs",)

    @dataclass(frozen=True)
    class Params:
        concatenation: str = setting(CONCATENATIONS[0], "Features of a pair (u, v) that the classifier receives.", choices=CONCATENATIONS)
        probe: bool = setting(
            True, "Fit the classifier to the base model's embeddings before training; the paper starts from random weights."
        )

    def __init__(self, params: Any = None, dim: int = 0, labels: int = 0) -> None:
        super().__init__(params, dim, labels)
        if labels < 2:
            raise StudioError("softmax needs at least two different labels", "choose the label column, or a loss for scores")
        self.head = nn.Linear(dim * len(self.params.concatenation.split(",")), labels)

    @property
    def initializes_head(self) -> bool:
        return bool(self.params.probe)

    def initialize_head(self, columns: Sequence[Tensor], targets: Tensor | None) -> None:
        fit_head(self, columns, targets)

    def compute(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        assert targets is not None
        u, v = columns
        parts = {"u": u, "v": v, "|u-v|": (u - v).abs(), "u*v": u * v}
        features = torch.cat([parts[part] for part in self.params.concatenation.split(",")], dim=-1)
        return F.cross_entropy(self.head(features), targets.long())
