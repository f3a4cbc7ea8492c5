"""SBERT's classification objective: a softmax over a concatenation of the two embeddings, with a head fitted beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..errors import StudioError
from ..registry import setting
from .base import OBJECTIVES, Objective

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


CONCATENATIONS = ("u,v,|u-v|", "u,v,|u-v|,u*v", "u,v,u*v", "|u-v|,u*v", "|u-v|", "u*v", "u,v")


@OBJECTIVES.register("softmax")
class Softmax(Objective):
    """Cross-entropy of softmax(W (u, v, |u − v|) + b) and the class. W and b are trained and then dropped: only the encoder is kept.

    Source: Reimers and Gurevych 2019, section 3, "Classification Objective Function"; the concatenations are those of table 6.
    """

    title = "Softmax"
    summary = "Classifies each pair from its two embeddings; the recipe of the SBERT paper for NLI, for labels in no order too."
    kinds = ("labelled_pairs",)

    @dataclass(frozen=True)
    class Params:
        """The concatenation, and how the classifier begins."""

        concatenation: str = setting(CONCATENATIONS[0], "What the classifier sees of a pair (u, v).", choices=CONCATENATIONS)
        probe: bool = setting(
            True, "Fit the classifier to the untuned vectors first, so that its random beginning does not spoil them; the paper does not."
        )

    def __init__(self, params: Any = None, dim: int = 0, labels: int = 0) -> None:
        super().__init__(params, dim, labels)
        if labels < 2:
            raise StudioError("softmax needs at least two different labels", "choose the label column, or an objective for scores")
        self.head = nn.Linear(dim * len(self.params.concatenation.split(",")), labels)

    @property
    def probes(self) -> bool:
        """As the settings have it."""
        return bool(self.params.probe)

    def begin(self, columns: Sequence[Tensor], targets: Tensor | None) -> None:
        """Fit the classifier to the vectors, by L-BFGS."""
        fit(self, columns, targets)

    def loss(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        """Columns: the two sides of the pairs. Targets: (b,) class ids."""
        assert targets is not None
        u, v = columns
        parts = {"u": u, "v": v, "|u-v|": (u - v).abs(), "u*v": u * v}
        features = torch.cat([parts[part] for part in self.params.concatenation.split(",")], dim=-1)
        return F.cross_entropy(self.head(features), targets.long())
