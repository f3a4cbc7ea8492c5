"""Which texts belong together in all the rows that are learned from, not in one batch alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Relation:
    """Pairs of texts that are no negatives of each other, by the texts' ids.

    Attributes:
        pairs: (m,) int64, sorted: ``first · texts + second`` of each pair, both ways round.
        classes: (texts,) int64, the class whose texts all belong together, -1 for a text of none; ``None`` where there are no classes.
        texts: how many ids there are.
    """

    pairs: Tensor
    classes: Tensor | None
    texts: int

    @classmethod
    def of(cls, ids: np.ndarray, classes: np.ndarray | None = None, device: torch.device | str = "cpu") -> Relation:
        """The relation of all rows.

        Args:
            ids: (columns, n) ids of texts; the first two columns belong together, row by row.
            classes: (n,) ids of classes of rows, or ``None``.
        """
        texts = int(ids.max(initial=-1)) + 1
        first, second = ids[0].astype(np.int64), ids[1].astype(np.int64)
        pairs = np.unique(np.concatenate([first * texts + second, second * texts + first]))
        of_text = None
        if classes is not None:
            of_text = np.full(texts, -1, np.int64)
            of_text[first], of_text[second] = classes, classes
        return cls(torch.from_numpy(pairs).to(device), None if of_text is None else torch.from_numpy(of_text).to(device), texts)

    def holds(self, anchors: Tensor, candidates: Tensor) -> Tensor:
        """Which of the candidates belong to which anchor: (a,), (c,) ids → (a, c) bool."""
        keys = anchors[:, None] * self.texts + candidates
        places = torch.searchsorted(self.pairs, keys).clamp_max(len(self.pairs) - 1)
        found = self.pairs[places] == keys
        if self.classes is not None:
            mine, theirs = self.classes[anchors], self.classes[candidates]
            found |= (mine[:, None] == theirs) & (theirs >= 0)
        return found
