"""The plain cosine losses that CoSENT was proposed to replace; here to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from ..registry import setting
from .base import OBJECTIVES, Objective
from .similarity import cosine


@OBJECTIVES.register("naive_cosine")
class NaiveCosine(Objective):
    """The mean over pairs, with c = cos(u, v) and t in 0..1, of

    - ``linear``, equation 1: t (1 − c) + (1 − t) (1 + c)
    - ``squared``, equation 2: t (1 − c)² + (1 − t) c²
    - ``threshold``, equation 3: t (1 − c) + (1 − t) max(c, θ), θ = 0.7

    Source: Su 2022, "CoSENT (1)", kexue.fm/archives/8847, which explains why they learn badly from hard negatives.
    """

    title = "Naive cosine"
    summary = "Pulls cosines straight to 1 and to -1, to 0 or below a threshold; for comparison with CoSENT."
    kinds = ("labelled_pairs", "scored_pairs")

    @dataclass(frozen=True)
    class Params:
        """The equation and θ."""

        equation: str = setting("linear", "Which of the article's three losses.", choices=("linear", "squared", "threshold"))
        threshold: float = setting(0.7, "θ: dissimilar pairs below this cosine are left alone.", min=-1, max=1, step=0.05)

    def loss(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        """Columns: the two sides of the pairs."""
        c = cosine(columns[0], columns[1])
        t = self.graded(targets, c)
        similar = (1 - c) ** 2 if self.params.equation == "squared" else 1 - c
        dissimilar = {"linear": 1 + c, "squared": c**2, "threshold": c.clamp_min(self.params.threshold)}[self.params.equation]
        return (t * similar + (1 - t) * dissimilar).mean()
