"""Matryoshka representation learning: also apply a loss to prefixes of the embeddings, so that they can be truncated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import StudioError
from ..i18n import _
from .base import KnownPositives, Loss

SHARED_ATTRIBUTES = (
    *("name", "title", "summary", "kinds", "views", "in_batch"),
    *("classes_in_batch", "whole_batch", "ranks", "needs_targets", "params", "labels", "teacher"),
    *("encoded_columns", "prepare_teacher", "reconstructs", "share_weights", "corrupt"),
)
"""Attributes of a wrapped loss that also apply to the loss around it."""


class MatryoshkaLoss(Loss):
    """Σ_d w_d · L_d(first d components of each embedding); each L_d is a loss with its own head, if it has one.

    A truncated embedding is scaled to the length of the full one, so unit vectors stay unit vectors.
    Source: Kusupati et al. 2022, arXiv:2205.13147, equation 1.

    Args:
        factory: maps a width to the loss on embeddings of that width.
        dim: the full width, which is always included.
        dims: the widths, in any order.
        weights: the weights of ``dims``, 1 each by default; the full width has weight 1 if it is not among them.

    Raises:
        StudioError: a width is repeated or outside 1..``dim``, or the numbers of weights and widths differ.
    """

    def __init__(self, factory: Callable[[int], Loss], dim: int, dims: Sequence[int], weights: Sequence[float] | None = None) -> None:
        super().__init__(dim=dim)
        wrong = sorted({width for width in dims if not 1 <= width <= dim or list(dims).count(width) > 1})
        if wrong:
            listed = ", ".join(map(str, wrong))
            raise StudioError(
                _("Matryoshka widths must be distinct and between 1 and {dim}, but got {listed}", dim=dim, listed=listed),
                "remove these widths",
            )
        if weights is not None and len(weights) != len(dims):
            raise StudioError(
                _("{weights} Matryoshka weights for {dims} widths", weights=len(weights), dims=len(dims)),
                "specify one weight per width, or none",
            )
        chosen = {dim: 1.0} | dict(zip(dims, weights or [1.0] * len(dims), strict=True))
        self.weights = dict(sorted(chosen.items(), reverse=True))
        self.parts = nn.ModuleList(factory(width) for width in self.weights)
        inner = self.parts[0]
        for attribute in SHARED_ATTRIBUTES:
            setattr(self, attribute, getattr(inner, attribute))

    def set_known_positives(self, relation: KnownPositives) -> None:
        super().set_known_positives(relation)
        for part in self.parts:
            part.set_known_positives(relation)  # type: ignore[operator]

    @property
    def initializes_head(self) -> bool:
        return any(part.initializes_head for part in self.parts)

    def initialize_head(self, columns: Sequence[Tensor], targets: Tensor | None) -> None:
        for width, part in zip(self.weights, self.parts, strict=True):
            part.initialize_head([truncate(column, width) for column in columns], targets)  # type: ignore[operator]

    def compute(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        inner: Any = self.parts[0]
        if inner.truncates_targets and targets is not None:
            targets = inner.align_teacher(targets.to(columns[0].dtype))
        losses = []
        for (width, weight), part in zip(self.weights.items(), self.parts, strict=True):
            wanted = truncate(targets, width) if inner.truncates_targets and targets is not None else targets
            losses.append(weight * part.compute([truncate(column, width) for column in columns], wanted, ids))  # type: ignore[operator]
        return torch.stack(losses).sum()


def truncate(embeddings: Tensor, width: int) -> Tensor:
    """Return the first ``width`` components of each row, scaled to the length of the full row: (b, dim) → (b, width)."""
    if width == embeddings.shape[-1]:
        return embeddings
    short = embeddings[..., :width]
    whole_length, short_length = (torch.linalg.vector_norm(rows, dim=-1, keepdim=True) for rows in (embeddings, short))
    stretched: Tensor = short * (whole_length / short_length.clamp_min(1e-8))
    return stretched
