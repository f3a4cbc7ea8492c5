"""A new head, fitted to vectors that stand still."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .base import Objective

_STEPS = 200
# Of the squared length of the weights: enough that separable rows do not drive them to infinity.
_DECAY = 1e-4


def fit(objective: Objective, columns: Sequence[Tensor], targets: Tensor | None) -> None:
    """Minimise the loss of ``objective`` over its own parameters, by L-BFGS.

    A head of random weights sends a random gradient into the encoder until it has learned itself, and what the encoder knew is lost
    meanwhile: probing first keeps it. Source: Kumar et al. 2022, arXiv:2202.10054, "LP-FT".

    Args:
        columns: an (n, dim) tensor a text column.
        targets: (n,), as those of the objective.
    """
    learning = list(objective.parameters())
    solver = torch.optim.LBFGS(learning, max_iter=_STEPS, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        solver.zero_grad()
        lengths = torch.stack([parameter.square().sum() for parameter in learning if parameter.ndim > 1])
        loss: Tensor = objective.loss(columns, targets, None) + _DECAY * lengths.sum()
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    solver.step(closure)  # type: ignore[no-untyped-call]
    for parameter in learning:
        parameter.grad = None
