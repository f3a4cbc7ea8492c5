"""In-batch negatives: every other row's positive is a negative."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from ..registry import setting
from .base import OBJECTIVES, Objective, Relation
from .similarity import unit

if TYPE_CHECKING:
    from ..data.examples import Kind


@OBJECTIVES.register("in_batch")
class InBatch(Objective):
    """mean_i −log (exp λ cos(a_i, p_i) / Σ_j exp λ cos(a_i, c_j)), c all positives and hard negatives of the batch.

    Source: Henderson et al. 2017, arXiv:1705.00652, here on scaled cosines; also known as multiple negatives ranking and InfoNCE.
    Symmetric: the mean of that and of the same with anchors and positives exchanged.
    """

    title = "In-batch negatives"
    summary = "Each anchor should find its own positive among those of the whole batch; for pairs and triplets without scores."
    kinds: tuple[Kind, ...] = ("positive_pairs", "triplets")
    in_batch = True
    whole_batch = True
    needs_targets = False

    @dataclass(frozen=True)
    class Params:
        """λ and direction."""

        scale: float = setting(20.0, "λ: the inverse of the temperature.", min=1, max=200, step=1)
        symmetric: bool = setting(False, "Let each positive find its anchor as well.")

    def loss(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        """Columns: anchors, positives, then any number of columns of hard negatives."""
        return self.of_rows(columns, ids)

    def of_rows(self, columns: Sequence[Tensor], ids: Sequence[Tensor] | None, rows: Tensor | None = None) -> Tensor:
        """The loss over the anchors of ``rows``, (b,) bool, or over all of them; the texts of the others are candidates too."""
        forward = self._one_way(columns, ids, rows)
        if not self.params.symmetric:
            return forward
        return (forward + self._one_way((columns[1], columns[0]), None if ids is None else (ids[1], ids[0]), rows)) / 2

    def _one_way(self, columns: Sequence[Tensor], ids: Sequence[Tensor] | None, rows: Tensor | None) -> Tensor:
        scores = self.params.scale * self.all_alike(columns[0], torch.cat(list(columns[1:])))
        return own_among_all(scores, ids, self.relation, rows)


def in_batch_loss(columns: Sequence[Tensor], ids: Sequence[Tensor] | None, scale: float, relation: Relation | None = None) -> Tensor:
    """Cross-entropy of each anchor's positive among all candidates, by scaled cosine.

    Args:
        columns: anchors, positives, further candidates; each (b, dim).
        ids: of ``columns``, (b,) each, equal for equal texts; false negatives are then left out (see ``false_negatives``).
        scale: the inverse of the temperature.
        relation: which texts belong together by all rows, in this batch or not.
    """
    return own_among_all(scale * unit(columns[0]) @ unit(torch.cat(list(columns[1:]))).T, ids, relation)


def own_among_all(scores: Tensor, ids: Sequence[Tensor] | None, relation: Relation | None = None, rows: Tensor | None = None) -> Tensor:
    """Cross-entropy of each anchor's own candidate, the one of its row, in scores (b, candidates); see :func:`in_batch_loss`.

    Args:
        rows: the anchors that have a positive, (b,) bool; ``None`` for all. Without any the loss is 0.
    """
    if ids is not None:
        scores = scores.masked_fill(false_negatives(ids, relation), -torch.inf)
    own = torch.arange(len(scores), device=scores.device)
    if rows is not None:
        scores, own = scores[rows], own[rows]
    return F.cross_entropy(scores, own) if len(own) else scores.new_zeros(()) * scores.sum()


def false_negatives(ids: Sequence[Tensor], relation: Relation | None = None) -> Tensor:
    """Candidates that are no negatives of an anchor: (b, b · (columns − 1)), True where a candidate's text is that of the anchor or of
    its positive, where it is the positive of another row with the same anchor, or where by ``relation`` it belongs to the anchor: a
    second positive may come into the batch beside another anchor. Its own positive is never among them.
    """
    anchors, positives, candidates = ids[0], ids[1], torch.cat(list(ids[1:]))
    rows = len(anchors)
    false = (candidates == anchors[:, None]) | (candidates == positives[:, None])
    false[:, :rows] |= anchors == anchors[:, None]
    if relation is not None:
        false |= relation.holds(anchors, candidates)
    false[:, :rows].fill_diagonal_(False)
    return false
