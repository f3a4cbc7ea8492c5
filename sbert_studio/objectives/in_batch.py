"""In-batch negatives: every other row's positive is a negative."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from ..registry import setting
from .base import OBJECTIVES, Objective
from .relation import Relation
from .similarity import unit


@OBJECTIVES.register("in_batch")
class InBatch(Objective):
    """mean_i −log (exp λ cos(a_i, p_i) / Σ_j exp λ cos(a_i, c_j)), c all positives and hard negatives of the batch.

    Source: Henderson et al. 2017, arXiv:1705.00652, here on scaled cosines; also known as multiple negatives ranking and InfoNCE.
    Symmetric: the mean of that and of the same with anchors and positives exchanged.
    """

    title = "In-batch negatives"
    summary = "Each anchor should find its own positive among those of the whole batch; for pairs and triplets without scores."
    kinds = ("positive_pairs", "triplets")
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
        forward = in_batch_loss(columns, ids, self.params.scale, self.relation)
        if not self.params.symmetric:
            return forward
        exchanged = None if ids is None else (ids[1], ids[0])
        return (forward + in_batch_loss((columns[1], columns[0]), exchanged, self.params.scale, self.relation)) / 2


def in_batch_loss(columns: Sequence[Tensor], ids: Sequence[Tensor] | None, scale: float, relation: Relation | None = None) -> Tensor:
    """Cross-entropy of each anchor's positive among all candidates, by scaled cosine.

    Args:
        columns: anchors, positives, further candidates; each (b, dim).
        ids: of ``columns``, (b,) each, equal for equal texts; false negatives are then left out (see ``false_negatives``).
        scale: the inverse of the temperature.
        relation: which texts belong together by all rows, in this batch or not.
    """
    anchors, candidates = unit(columns[0]), unit(torch.cat(list(columns[1:])))
    scores = scale * anchors @ candidates.T
    if ids is not None:
        scores = scores.masked_fill(false_negatives(ids, relation), -torch.inf)
    return F.cross_entropy(scores, torch.arange(len(anchors), device=scores.device))


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
