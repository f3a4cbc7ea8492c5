"""What a cross-encoder learns by: losses on the logits of whole pairs, where the other objectives compare vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..errors import StudioError
from ..registry import Registry, parse_params, setting
from .base import Objective

PAIR_OBJECTIVES: Registry[Objective] = Registry("objective of a cross-encoder")


class PairObjective(Objective):
    """Logits (b, outputs) of b pairs and their targets → one loss, a mean of one term a pair.

    Args:
        params: a ``Params`` of this class; ``None`` for the defaults.
        labels: how many classes the targets have; 0 where they are scores.
        head: of the cross-encoder, ``linear`` or ``mlp``.

    Attributes:
        squeezes: whether the model's score is the sigmoid of its single logit.
    """

    squeezes: bool = False

    def __init__(self, params: Any = None, labels: int = 0, head: str = "linear") -> None:
        super().__init__(params, self.outputs(labels), labels)
        self.head = head

    @classmethod
    def outputs(cls, labels: int) -> int:
        """How many logits the model gives a pair."""
        return 1


@PAIR_OBJECTIVES.register("mse")
class MeanSquaredError(PairObjective):
    """mean (s − t)², s the logit or its sigmoid, t in 0..1.

    Source: the STS-Benchmark comparison of a linear head with 512 units, ReLU and a sigmoid, both on the pair's [CLS] vector.
    """

    title = "Squared error"
    summary = "Fits the score of each pair, read as a whole."
    kinds = ("scored_pairs", "labelled_pairs")

    @dataclass(frozen=True)
    class Params:
        """The sigmoid."""

        sigmoid: str = setting(
            "auto", "Squeeze the score into 0 to 1 by a sigmoid; auto does so behind the head mlp.", choices=("auto", "yes", "no")
        )

    def __init__(self, params: Any = None, labels: int = 0, head: str = "linear") -> None:
        super().__init__(params, labels, head)
        self.squeezes = head == "mlp" if self.params.sigmoid == "auto" else self.params.sigmoid == "yes"

    def loss(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        """Columns: one, the logits (b, 1)."""
        logits = columns[0][:, 0]
        return F.mse_loss(torch.sigmoid(logits) if self.squeezes else logits, self.graded(targets, logits))


@PAIR_OBJECTIVES.register("binary_cross_entropy")
class BinaryCrossEntropy(PairObjective):
    """mean −t log σ(s) − (1 − t) log (1 − σ(s)), s the logit, t in 0..1: the usual loss of a re-ranker (Nogueira and Cho 2019)."""

    title = "Binary cross-entropy"
    summary = "Tells pairs that belong together from those that do not; the usual choice for re-ranking."
    kinds = ("labelled_pairs", "scored_pairs")
    squeezes = True

    def loss(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        """Columns: one, the logits (b, 1)."""
        logits = columns[0][:, 0]
        return F.binary_cross_entropy_with_logits(logits, self.graded(targets, logits))


@PAIR_OBJECTIVES.register("cross_entropy")
class CrossEntropy(PairObjective):
    """mean −log softmax(s)ₜ, s the logits and t the class: classification of the pair, as of NLI (Devlin et al. 2019, section 4.1)."""

    title = "Cross-entropy"
    summary = "Sorts each pair into one of the classes, in no order; such a model does not rank."
    kinds = ("labelled_pairs",)

    @classmethod
    def outputs(cls, labels: int) -> int:
        """One logit a class.

        Raises:
            StudioError: there are fewer than two classes.
        """
        if labels < 2:
            raise StudioError("cross-entropy needs at least two different labels", "choose the label column, or an objective for scores")
        return labels

    def loss(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        """Columns: one, the logits (b, labels)."""
        assert targets is not None  # forward has refused it
        return F.cross_entropy(columns[0], targets.long())


def build_pair_objective(name: str, values: Mapping[str, Any], *, labels: int = 0, head: str = "linear") -> PairObjective:
    """The registered pair objective ``name`` with ``values`` for its ``Params``.

    Raises:
        StudioError: an unknown name or setting, a value out of bounds, fewer than two labels for ``cross_entropy``.
    """
    chosen: Any = PAIR_OBJECTIVES[name]
    made: PairObjective = chosen(parse_params(chosen.Params, values), labels, head)
    return made
