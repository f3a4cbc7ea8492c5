"""Losses of cross-encoders, computed on the logits of pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..data.schema.roles import Kind
from ..errors import StudioError
from ..registry import Registry, parse_params, setting
from .base import Loss

CROSS_ENCODER_LOSSES: Registry[Loss] = Registry("cross-encoder loss")


class CrossEncoderLoss(Loss):
    """Mean loss of the logits (b, num_outputs) of b pairs.

    Args:
        params: a ``Params`` of this class; ``None`` for the defaults.
        labels: number of classes; 0 for scores.
        head: head of the cross-encoder, ``linear`` or ``mlp``.

    Attributes:
        applies_sigmoid: whether the model's score is the sigmoid of its single logit.
    """

    applies_sigmoid: bool = False

    def __init__(self, params: Any = None, labels: int = 0, head: str = "linear") -> None:
        super().__init__(params, self.num_outputs(labels), labels)
        self.head = head

    @classmethod
    def num_outputs(cls, labels: int) -> int:
        return 1


@CROSS_ENCODER_LOSSES.register("mse")
class MSELoss(CrossEncoderLoss):
    """mean (s − t)², where s is the logit or its sigmoid and t in [0, 1].

    Source: the STS-Benchmark comparison of a linear head and one with 512 units, ReLU and a sigmoid, both on the pair's [CLS] vector.
    """

    title = "Squared error"
    summary = "Fits the score of each pair, by mean squared error."
    source = "Devlin et al. 2019, section 4.1"
    kinds: tuple[Kind, ...] = ("scored_pairs", "labelled_pairs")

    @dataclass(frozen=True)
    class Params:
        sigmoid: str = setting(
            "auto", "Map the score to 0–1 with a sigmoid; auto applies it with the mlp head.", choices=("auto", "yes", "no")
        )

    def __init__(self, params: Any = None, labels: int = 0, head: str = "linear") -> None:
        super().__init__(params, labels, head)
        self.applies_sigmoid = head == "mlp" if self.params.sigmoid == "auto" else self.params.sigmoid == "yes"

    def compute(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        logits = columns[0][:, 0]
        return F.mse_loss(torch.sigmoid(logits) if self.applies_sigmoid else logits, self.as_similarities(targets, logits))


@CROSS_ENCODER_LOSSES.register("binary_cross_entropy")
class BinaryCrossEntropyLoss(CrossEncoderLoss):
    """mean −t log σ(s) − (1 − t) log (1 − σ(s)), s the logit and t in [0, 1]: the common re-ranker loss (Nogueira and Cho 2019)."""

    title = "Binary cross-entropy"
    summary = "Separates matching pairs from others; the usual choice for re-ranking."
    source = "Nogueira & Cho 2019"
    kinds: tuple[Kind, ...] = ("labelled_pairs", "scored_pairs")
    applies_sigmoid = True

    def compute(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        logits = columns[0][:, 0]
        return F.binary_cross_entropy_with_logits(logits, self.as_similarities(targets, logits))


@CROSS_ENCODER_LOSSES.register("cross_entropy")
class CrossEntropyLoss(CrossEncoderLoss):
    """mean −log softmax(s)ₜ, where s are the logits and t the class: pair classification, as for NLI (Devlin et al. 2019, section 4.1)."""

    title = "Cross-entropy"
    summary = "Classifies each pair into unordered classes; such a model cannot rank."
    source = "Devlin et al. 2019, section 4.1"
    kinds: tuple[Kind, ...] = ("labelled_pairs",)

    @classmethod
    def num_outputs(cls, labels: int) -> int:
        if labels < 2:
            raise StudioError("cross-entropy needs at least two different labels", "choose the label column, or a loss for scores")
        return labels

    def compute(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        assert targets is not None
        return F.cross_entropy(columns[0], targets.long())


def build_cross_encoder_loss(name: str, values: Mapping[str, Any], *, labels: int = 0, head: str = "linear") -> CrossEncoderLoss:
    """Build the registered loss ``name``; see :func:`sbert_studio.losses.build_loss`."""
    chosen: Any = CROSS_ENCODER_LOSSES[name]
    made: CrossEncoderLoss = chosen(parse_params(chosen.Params, values), labels, head)
    return made
