"""Base class of losses, gathering across processes, and relations between training texts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from ..errors import StudioError
from ..registry import Registry
from .similarity import cosine, unit

if TYPE_CHECKING:
    from ..data.examples import Kind


def process_count() -> int:
    """How many processes train together; 1 without ``torch.distributed``."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def gather_rows(local: Tensor) -> Tensor:
    """(b, ...) of each process → (Σ b, ...), in the order of ranks, the same on every process. b may differ between processes.

    The gradient that reaches a process's own rows is the sum over processes of the gradients of their losses: where every process
    computes the loss of the global batch and gradients are then averaged (DDP), the result is the gradient of that loss.
    """
    gathered: Tensor = _Gather.apply(local)  # type: ignore[no-untyped-call]
    return gathered


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, local: Tensor) -> Tensor:
        sizes = [torch.zeros(1, dtype=torch.int64, device=local.device) for _ in range(dist.get_world_size())]
        dist.all_gather(sizes, torch.tensor([len(local)], device=local.device))
        counts = [int(size) for size in sizes]
        padded = local.new_zeros((max(counts), *local.shape[1:]))
        padded[: len(local)] = local
        parts = [torch.empty_like(padded) for _ in counts]
        dist.all_gather(parts, padded)
        ctx.start, ctx.rows = sum(counts[: dist.get_rank()]), len(local)
        return torch.cat([part[:count] for part, count in zip(parts, counts, strict=True)])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        total = gradients[0].contiguous().clone()
        dist.all_reduce(total)
        return total[ctx.start : ctx.start + ctx.rows]


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


OBJECTIVES: Registry[Objective] = Registry("objective")


class Objective(nn.Module, ABC):
    """Embeddings and targets → one loss. It never holds an encoder; it may hold a head (``softmax``), which is trained with the encoder.

    Attributes:
        name: the key in ``OBJECTIVES``.
        title: for people, a few words.
        summary: for people, a sentence.
        kinds: the kinds of examples it learns from.
        views: how often each text is encoded for one step (2: two dropout passes, SimCSE).
        in_batch: rows are each other's negatives, so a batch should hold no text twice.
        classes_in_batch: rows of one class are each other's positives, so a batch should hold several of several classes.
        whole_batch: the loss is not a mean of one term a row, so splitting a batch into micro-batches changes it: the caller needs
            ``cached_backward``, not plain accumulation.
        ranks: the scores of a batch's rows are ranked with each other, so that rows that never meet are never compared.
        needs_targets: it cannot do without a score or a class for each row.
        relation: which texts belong together by all rows that are learned from; ``None`` until :meth:`know` has told. Only in-batch
            objectives look at it.
        Params: the settings, a frozen dataclass.
    """

    name: str
    title: str
    summary: str
    kinds: tuple[Kind, ...]
    views: int = 1
    in_batch: bool = False
    classes_in_batch: bool = False
    whole_batch: bool = False
    ranks: bool = False
    needs_targets: bool = True

    @dataclass(frozen=True)
    class Params:
        """No settings."""

    params: Any
    relation: Relation | None = None

    def __init__(self, params: Any = None, dim: int = 0, labels: int = 0) -> None:
        """Args:
        params: a ``Params`` of this class; ``None`` for the defaults.
        dim: width of the embeddings.
        labels: how many classes the targets have; 0 where they are scores or absent.
        """
        super().__init__()
        self.params = self.Params() if params is None else params
        self.dim = dim
        self.labels = labels

    def know(self, relation: Relation) -> None:
        """Take note of which texts belong together; the ids of ``forward`` are those of the relation."""
        self.relation = relation

    @property
    def probes(self) -> bool:
        """Whether it has a head that should :meth:`begin` with what the untuned encoder knows."""
        return False

    def begin(self, columns: Sequence[Tensor], targets: Tensor | None) -> None:
        """Set the head by the untuned encoder's vectors.

        Args:
            columns: an (n, dim) tensor a text column, of up to all rows that are learned from.
            targets: (n,), as those of :meth:`forward`.
        """

    def forward(self, columns: Sequence[Tensor], targets: Tensor | None = None, ids: Sequence[Tensor] | None = None) -> Tensor:
        """The loss of a batch of b rows, a float32 scalar (float64 for float64 embeddings), autocast or not.

        Args:
            columns: one (b, dim) tensor a text column; with ``views`` 2, each column's passes follow one another.
            targets: (b,) scores in 0..1 (floating) or class ids (integer), or ``None``.
            ids: for each of ``columns`` (b,) int64 names of texts: equal ids, equal texts, in every process. Only in-batch objectives
                look at them.

        In training mode with ``torch.distributed`` initialised, a ``whole_batch`` objective gathers the rows of all processes first,
        with gradient, so every process returns the loss of the global batch and must call it at the same step.
        """
        if self.needs_targets and targets is None:
            raise StudioError(f"{self.title} needs a score or a label for each row", "choose the column that holds it")
        columns = [full_precision(column) for column in columns]
        if self.whole_batch and self.training and process_count() > 1:
            columns = [gather_rows(column) for column in columns]
            targets = None if targets is None else gather_rows(targets)
            ids = None if ids is None else [gather_rows(column) for column in ids]
        with torch.autocast(columns[0].device.type, enabled=False):
            return self.loss(columns, targets, ids)

    def alike(self, left: Tensor, right: Tensor) -> Tensor:
        """How alike the two sides of each pair are, (b, dim) each → (b,): the cosine, unless a family of models scores pairs otherwise."""
        return cosine(left, right)

    def all_alike(self, anchors: Tensor, candidates: Tensor) -> Tensor:
        """The same of every anchor (a, dim) with every candidate (c, dim): (a, c)."""
        return unit(anchors) @ unit(candidates).T

    @abstractmethod
    def loss(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        """The loss, given what ``forward`` is given, in full precision."""

    def graded(self, targets: Tensor | None, like: Tensor) -> Tensor:
        """Targets as similarities in 0..1 in the precision of ``like``: scores as they are, class ids in order (0, 1, 2 → 0, ½, 1)."""
        assert targets is not None  # forward has refused it
        return targets.to(like.dtype) if targets.is_floating_point() else targets.to(like.dtype) / max(self.labels - 1, 1)


def full_precision(embeddings: Tensor) -> Tensor:
    """Half-precision embeddings in float32; others as they are."""
    return embeddings.float() if embeddings.dtype in (torch.float16, torch.bfloat16) else embeddings


def objectives_for(kind: Kind) -> list[str]:
    """The names of the objectives that learn from this kind of examples."""
    return [name for name in OBJECTIVES if kind in OBJECTIVES[name].kinds]
