"""Multiple negatives ranking loss (InfoNCE): the positives of the other rows are the negatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from ..data.schema.roles import Kind
from ..registry import setting
from .base import LOSSES, KnownPositives, Loss


@LOSSES.register("in_batch")
class MultipleNegativesRankingLoss(Loss):
    """mean_i −log (exp λ cos(a_i, p_i) / Σ_j exp λ cos(a_i, c_j)), with c_j all positives and hard negatives of the batch.

    Source: Henderson et al. 2017, arXiv:1705.00652, here on scaled cosines.
    Symmetric: the mean of this and of the same loss with anchors and positives exchanged.
    """

    title = "In-batch negatives"
    summary = "Trains each anchor to rank its own positive first among all positives of the batch; for pairs and triplets without scores."
    source = "Henderson et al. 2017"
    kinds: tuple[Kind, ...] = ("positive_pairs", "triplets")
    in_batch = True
    whole_batch = True
    needs_targets = False

    @dataclass(frozen=True)
    class Params:
        scale: float = setting(20.0, "λ: inverse temperature.", min=1, max=200, step=1)
        symmetric: bool = setting(False, "Also rank the anchors for each positive.")

    def compute(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        return self.compute_rows(columns, ids)

    def compute_rows(self, columns: Sequence[Tensor], ids: Sequence[Tensor] | None, rows: Tensor | None = None) -> Tensor:
        """Return the loss over the anchors of ``rows``, (b,) bool, or over all; texts of other rows are also candidates."""
        forward = self._one_way(columns, ids, rows)
        if not self.params.symmetric:
            return forward
        return (forward + self._one_way((columns[1], columns[0]), None if ids is None else (ids[1], ids[0]), rows)) / 2

    def _one_way(self, columns: Sequence[Tensor], ids: Sequence[Tensor] | None, rows: Tensor | None) -> Tensor:
        scores = self.params.scale * self.score_matrix(columns[0], torch.cat(list(columns[1:])))
        return ranking_cross_entropy(scores, ids, self.known_positives, rows)


def ranking_cross_entropy(
    scores: Tensor, ids: Sequence[Tensor] | None, relation: KnownPositives | None = None, rows: Tensor | None = None
) -> Tensor:
    """Compute the cross-entropy of each anchor's own candidate, that of its row, in scores (b, candidates).

    Args:
        ids: text ids per column; false negatives are then masked (see :func:`false_negative_mask`).
        relation: positives over all training rows.
        rows: anchors that have a positive, (b,) bool; ``None`` for all. Without any, the loss is 0.
    """
    if ids is not None:
        scores = scores.masked_fill(false_negative_mask(ids, relation), -torch.inf)
    own = torch.arange(len(scores), device=scores.device)
    if rows is not None:
        scores, own = scores[rows], own[rows]
    return F.cross_entropy(scores, own) if len(own) else scores.new_zeros(()) * scores.sum()


def false_negative_mask(ids: Sequence[Tensor], relation: KnownPositives | None = None) -> Tensor:
    """Return a mask of the candidates that are not negatives of an anchor, (b, b · (columns − 1)) bool.

    These are texts equal to the anchor or its positive, positives of the same anchor in other rows, and known positives by ``relation``.
    The anchor's own positive is never masked.
    """
    anchors, positives, candidates = ids[0], ids[1], torch.cat(list(ids[1:]))
    rows = len(anchors)
    false = (candidates == anchors[:, None]) | (candidates == positives[:, None])
    false[:, :rows] |= anchors == anchors[:, None]
    if relation is not None:
        false |= relation.contains(anchors, candidates)
    false[:, :rows].fill_diagonal_(False)
    return false
