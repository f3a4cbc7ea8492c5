"""SBERT's classification objective: a softmax over a concatenation of the two embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...errors import StudioError
from ...registry import setting
from ..base import OBJECTIVES, Objective
from ..probe import fit

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
