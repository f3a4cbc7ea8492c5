"""A new head, fitted to the encoder as it is, before both learn together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ..encoders.transformer import TransformerEncoder
from ..objectives.base import Objective
from .processes import Processes
from .spec import TrainSpec
from .tuned import Tuned

if TYPE_CHECKING:
    from ..data.examples import Examples

_ROWS = 10_000
_STEPS = 200
# Of the squared length of the weights: enough that separable rows do not drive them to infinity.
_DECAY = 1e-4


def fit_head(spec: TrainSpec, objective: Objective, encoder: Tuned, examples: Examples, processes: Processes) -> bool:
    """Fit the parameters of ``objective`` (softmax's classifier) to the vectors of the untuned encoder, by L-BFGS.

    A head of random weights sends a random gradient into the encoder until it has learned itself, and what the encoder knew is lost
    meanwhile: probing first keeps it. Source: Kumar et al. 2022, arXiv:2202.10054, "LP-FT".

    Returns:
        Whether there was a head to fit, and its settings ask for it.
    """
    learning = list(objective.parameters())
    if not learning or not getattr(objective.params, "probe", False) or not isinstance(encoder, TransformerEncoder):
        return False
    some = examples.take(np.sort(np.random.default_rng(spec.seed).permutation(len(examples))[:_ROWS]))
    columns = [torch.from_numpy(encoder.encode(column)).to(encoder.device) for column in some.texts]
    targets = None if some.targets is None else torch.from_numpy(some.targets).to(encoder.device)
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
    with torch.no_grad():
        processes.average([parameter.data for parameter in learning])  # the same in every process, to the bit
    return True
