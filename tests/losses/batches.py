"""Seeded embeddings of each kind of examples, correlated enough that every branch of a loss is taken."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sbert_studio.losses import LOSSES, Loss

DIM = 10
CLASSES = 3


@dataclass
class Batch:
    columns: list[Tensor]
    targets: Tensor | None
    ids: list[Tensor]

    def rows(self, chosen: Tensor | slice) -> Batch:
        targets = None if self.targets is None else self.targets[chosen]
        return Batch([column[chosen] for column in self.columns], targets, [column[chosen] for column in self.ids])

    def leaves(self) -> list[Tensor]:
        """Copies of the columns that collect gradients."""
        return [column.detach().clone().requires_grad_() for column in self.columns]


def batch(kind: str, rows: int = 9, *, dim: int = DIM, negatives: int = 1, seed: int = 0, dtype: torch.dtype = torch.float64) -> Batch:
    """Columns near each other; scores in quarters with ties; three classes. For sentences two columns, the two passes; for labelled
    texts one.
    """
    random = torch.Generator().manual_seed(seed)
    first = torch.randn(rows, dim, generator=random, dtype=torch.float64)
    count = {"triplets": 2 + negatives, "labelled_texts": 1}.get(kind, 2)
    others = [first + 0.9 * torch.randn(rows, dim, generator=random, dtype=torch.float64) for _ in range(count - 1)]
    targets: Tensor | None = None
    if kind == "scored_pairs":
        targets = (torch.arange(rows) * 3 % 5).to(dtype) / 4
    elif kind in ("labelled_pairs", "labelled_texts"):
        targets = torch.arange(rows) * 2 % CLASSES
    names = torch.arange(rows * count).reshape(count, rows)
    ids = [names[0], names[0]] if kind == "sentences" else list(names)
    return Batch([column.to(dtype) for column in (first, *others)], targets, ids)


def make(name: str, *, dim: int = DIM, labels: int = CLASSES, **settings: object) -> Loss:
    torch.manual_seed(0)
    chosen = LOSSES[name]
    return chosen(chosen.Params(**settings), dim, labels)


PAIRS = [(name, kind) for name in LOSSES for kind in LOSSES[name].kinds]
