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


def batch(
    kind: str,
    rows: int = 9,
    *,
    dim: int = DIM,
    negatives: int = 1,
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
    name: str = "",
) -> Batch:
    """Columns near each other; scores in quarters with ties; three classes. For sentences two columns, the two passes; for labelled
    texts one. The targets of a loss ``name`` that imitates a teacher are its scores, or vectors that differ from the columns.
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
    teacher = LOSSES[name].teacher if name else ""
    if teacher == "scores":
        targets = torch.randn(rows, count - 1, generator=random, dtype=torch.float64).to(dtype)
    elif teacher == "vectors":
        drawn = first[:, None] + 0.9 * torch.randn(rows, count, dim + 2, generator=random, dtype=torch.float64)[:, :, :dim]
        targets = drawn.to(dtype)
    names = torch.arange(rows * count).reshape(count, rows)
    ids = [names[0], names[0]] if kind == "sentences" else list(names)
    return Batch([column.to(dtype) for column in (first, *others)], targets, ids)


def make(name: str, *, dim: int = DIM, labels: int = CLASSES, **settings: object) -> Loss:
    torch.manual_seed(0)
    chosen = LOSSES[name]
    return chosen(chosen.Params(**settings), dim, labels)


# A loss that reconstructs texts needs an encoder: see test_transformer_losses.py.
PAIRS = [(name, kind) for name in LOSSES for kind in LOSSES[name].kinds if not LOSSES[name].reconstructs]
