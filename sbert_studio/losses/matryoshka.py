"""Matryoshka: an objective on the first numbers of each embedding as well, so that embeddings can be cut short."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from ..errors import StudioError
from .base import Objective, Relation
from .similarity import row_length


class Matryoshka(Objective):
    """Σ_d w_d · L_d(the first d numbers of each embedding), each L_d an objective of its own, with a head of its own if it has one.

    A shortened embedding keeps the length of the whole one, so unit vectors stay unit vectors.
    Source: Kusupati et al. 2022, arXiv:2205.13147, equation 1.

    Args:
        factory: width → the objective on embeddings of that width.
        dim: the full width. It is always among the widths.
        dims: the widths, in any order.
        weights: of ``dims``, 1 each unless given; the full width weighs 1 where it is not among them.

    Raises:
        StudioError: a width that is not between 1 and ``dim``, or twice the same; another number of weights than of widths.
    """

    def __init__(self, factory: Callable[[int], Objective], dim: int, dims: Sequence[int], weights: Sequence[float] | None = None) -> None:
        super().__init__(dim=dim)
        wrong = sorted({width for width in dims if not 1 <= width <= dim or list(dims).count(width) > 1})
        if wrong:
            listed = ", ".join(map(str, wrong))
            raise StudioError(f"matryoshka widths must be different and between 1 and {dim}; not so: {listed}", "leave those out")
        if weights is not None and len(weights) != len(dims):
            raise StudioError(f"{len(weights)} matryoshka weights for {len(dims)} widths", "give one weight a width, or none")
        chosen = {dim: 1.0} | dict(zip(dims, weights or [1.0] * len(dims), strict=True))
        self.weights = dict(sorted(chosen.items(), reverse=True))
        self.parts = nn.ModuleList(factory(width) for width in self.weights)
        inner = self.parts[0]
        assert isinstance(inner, Objective)
        self.name, self.title, self.summary, self.kinds = inner.name, inner.title, inner.summary, inner.kinds
        self.views, self.in_batch, self.whole_batch = inner.views, inner.in_batch, inner.whole_batch
        self.classes_in_batch, self.ranks = inner.classes_in_batch, inner.ranks
        self.needs_targets, self.params, self.labels = inner.needs_targets, inner.params, inner.labels

    def know(self, relation: Relation) -> None:
        """Tell the wrapped objectives."""
        super().know(relation)
        for part in self.parts:
            part.know(relation)  # type: ignore[operator]

    @property
    def probes(self) -> bool:
        """As the wrapped objectives do."""
        return any(part.probes for part in self.parts)

    def begin(self, columns: Sequence[Tensor], targets: Tensor | None) -> None:
        """Each wrapped objective by vectors of its width."""
        for width, part in zip(self.weights, self.parts, strict=True):
            part.begin([shorten(column, width) for column in columns], targets)  # type: ignore[operator]

    def loss(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        """Columns: those of the wrapped objective."""
        losses = [
            weight * part.loss([shorten(column, width) for column in columns], targets, ids)  # type: ignore[operator]
            for (width, weight), part in zip(self.weights.items(), self.parts, strict=True)
        ]
        return torch.stack(losses).sum()


def shorten(embeddings: Tensor, width: int) -> Tensor:
    """The first ``width`` numbers of each row, at the length of the whole row. (b, dim) → (b, width)."""
    if width == embeddings.shape[-1]:
        return embeddings
    short = embeddings[..., :width]
    return short * (row_length(embeddings) / row_length(short).clamp_min(1e-8)).unsqueeze(-1)
