"""Losses that fit the cosine of each pair to its score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from ..data.schema.roles import Kind
from ..registry import setting
from .base import LOSSES, Loss, cosine
from .cosent import ranking_loss


@LOSSES.register("cosine+cosent")
class CosineCoSENTLoss(Loss):
    """w · mean (cos(u, v) − t)² + CoSENT with λ: regression fixes the scale of the cosines, CoSENT sharpens their order."""

    title = "Cosine regression + CoSENT"
    summary = "Fits the scores and their order at once; the best in our measurements on a few thousand scored pairs."
    source = "Reimers & Gurevych 2019, Su 2022"
    kinds: tuple[Kind, ...] = ("scored_pairs", "labelled_pairs")
    whole_batch = True
    ranks = True

    @dataclass(frozen=True)
    class Params:
        cosine_weight: float = setting(5.0, "Weight of the regression term relative to CoSENT.", min=0, max=100, step=0.5)
        scale: float = setting(20.0, "λ: how strongly pairs in the wrong order are penalized.", min=1, max=100, step=1)

    def compute(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        assert targets is not None
        similarities = self.pair_scores(columns[0], columns[1])
        regression = F.mse_loss(similarities, self.as_similarities(targets, similarities))
        weight: float = self.params.cosine_weight
        return weight * regression + ranking_loss(self.params.scale * similarities, targets)


@LOSSES.register("cosine")
class CosineSimilarityLoss(Loss):
    """mean (cos(u, v) − t)², t in [0, 1].

    Source: Reimers and Gurevych 2019, section 3, "Regression Objective Function". Class ids are evenly spaced in [0, 1].
    """

    title = "Cosine regression"
    summary = "Fits the cosine of each pair to its score, by mean squared error."
    source = "Reimers & Gurevych 2019, section 3"
    kinds: tuple[Kind, ...] = ("scored_pairs", "labelled_pairs")

    def compute(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        similarities = self.pair_scores(columns[0], columns[1])
        return F.mse_loss(similarities, self.as_similarities(targets, similarities))


@LOSSES.register("naive_cosine")
class NaiveCosineLoss(Loss):
    """The cosine losses that CoSENT was proposed to replace, for comparison.

    Mean over pairs, with c = cos(u, v) and t in [0, 1]:
    - ``linear``, equation 1: t (1 − c) + (1 − t) (1 + c)
    - ``squared``, equation 2: t (1 − c)² + (1 − t) c²
    - ``threshold``, equation 3: t (1 − c) + (1 − t) max(c, θ), θ = 0.7

    Source: Su 2022, "CoSENT (1)", kexue.fm/archives/8847, which explains why they learn poorly from hard negatives.
    """

    title = "Naive cosine"
    summary = "Pulls cosines directly to 1, and to -1, 0 or below a threshold; for comparison with CoSENT."
    source = "Su 2022, equations 1 to 3"
    kinds: tuple[Kind, ...] = ("labelled_pairs", "scored_pairs")

    @dataclass(frozen=True)
    class Params:
        equation: str = setting("linear", "Equation of the article.", choices=("linear", "squared", "threshold"))
        threshold: float = setting(0.7, "θ: dissimilar pairs below this cosine are ignored.", min=-1, max=1, step=0.05)

    def compute(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        c = cosine(columns[0], columns[1])
        t = self.as_similarities(targets, c)
        similar = (1 - c) ** 2 if self.params.equation == "squared" else 1 - c
        dissimilar = {"linear": 1 + c, "squared": c**2, "threshold": c.clamp_min(self.params.threshold)}[self.params.equation]
        return (t * similar + (1 - t) * dissimilar).mean()
