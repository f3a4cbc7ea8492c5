"""Base class of losses, row-wise similarities and distances, gathering across processes, and known positives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

from ..data.schema.roles import Kind
from ..errors import StudioError
from ..i18n import _
from ..registry import Registry

if TYPE_CHECKING:
    from ..models.trainable import Trainable

LOSSES: Registry[Loss] = Registry("loss")

# Similarities and distances of rows, (b, dim), (b, dim) → (b,), with finite gradients at zero and for equal rows.


def unit(embeddings: Tensor) -> Tensor:
    """Scale rows to length 1; a zero row stays zero."""
    return F.normalize(embeddings, dim=-1, eps=1e-8)


def cosine(u: Tensor, v: Tensor) -> Tensor:
    """Return the cosine of each pair of rows, in [-1, 1]."""
    return (unit(u) * unit(v)).sum(-1)


DISTANCES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "euclidean": lambda u, v: torch.linalg.vector_norm(u - v, dim=-1),
    "cosine": lambda u, v: 1 - cosine(u, v),
    "manhattan": lambda u, v: (u - v).abs().sum(-1),
}


def process_count() -> int:
    """Return the number of processes that train together; 1 without ``torch.distributed``."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def gather_rows(local: Tensor) -> Tensor:
    """Concatenate the rows of all processes in rank order: (b, ...) each → (Σ b, ...). b may differ between processes.

    The gradient of a process's own rows is the sum over processes of the gradients of their losses. If every process computes the loss of
    the global batch and gradients are then averaged (DDP), the result is the gradient of that loss.
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
class KnownPositives:
    """Pairs of texts that are positives of each other anywhere in the training data, and therefore never negatives.

    Attributes:
        pairs: (m,) int64, sorted: ``first · texts + second`` of each pair, in both directions.
        classes: (texts,) int64, a class whose texts are all positives of each other, -1 for none; ``None`` without classes.
        texts: number of text ids.
    """

    pairs: Tensor
    classes: Tensor | None
    texts: int

    @classmethod
    def from_rows(cls, ids: np.ndarray, classes: np.ndarray | None = None, device: torch.device | str = "cpu") -> KnownPositives:
        """Collect the pairs from the rows' text ids (columns, n), where the first two of a row are positives, and their classes (n,)."""
        texts = int(ids.max(initial=-1)) + 1
        first, second = ids[0].astype(np.int64), ids[1].astype(np.int64)
        pairs = np.unique(np.concatenate([first * texts + second, second * texts + first]))
        class_of = None
        if classes is not None:
            by_text = np.full(texts, -1, np.int64)
            by_text[first], by_text[second] = classes, classes
            class_of = torch.from_numpy(by_text).to(device)
        return cls(torch.from_numpy(pairs).to(device), class_of, texts)

    def contains(self, anchors: Tensor, candidates: Tensor) -> Tensor:
        """Return the mask of candidates that are positives of each anchor: (a,), (c,) ids → (a, c) bool."""
        keys = anchors[:, None] * self.texts + candidates
        places = torch.searchsorted(self.pairs, keys).clamp_max(len(self.pairs) - 1)
        found = self.pairs[places] == keys
        if self.classes is not None:
            mine, theirs = self.classes[anchors], self.classes[candidates]
            found |= (mine[:, None] == theirs) & (theirs >= 0)
        return found


class Loss(nn.Module, ABC):
    """Loss of a batch of embeddings and targets. It may have a head that is trained with the encoder (``softmax``), but no encoder.

    Args:
        params: a ``Params`` of this class; ``None`` for the defaults.
        dim: width of the embeddings.
        labels: number of classes of the targets; 0 if they are scores or absent.

    Attributes:
        name: key in ``LOSSES``.
        title, summary: a few words and a sentence for display.
        source: the paper, with the equation or section, for the table of losses in ``docs/training.md``.
        kinds: kinds of examples it can be trained on.
        views: how often each text is encoded per step (2: two dropout passes, SimCSE).
        in_batch: rows are each other's negatives, so a batch should not contain a text twice.
        classes_in_batch: rows of the same class are positives, so a batch should contain several texts of several classes.
        whole_batch: the loss is not a mean over rows, so micro-batches need ``cached_backward`` instead of gradient accumulation.
        ranks: the scores of a batch's rows are ranked against each other.
        needs_targets: each row needs a score or a class.
        teacher: ``scores`` or ``vectors`` if the targets are those of a teacher model, else empty.
        reconstructs: the targets are the token ids of the texts.
        truncates_targets: with Matryoshka learning, the targets are vectors that are truncated like the embeddings.
        known_positives: positives over all training rows, used to mask false negatives; ``None`` until :meth:`set_known_positives`.
        Params: the settings, a frozen dataclass.
    """

    name: str
    title: str
    summary: str
    source: str
    kinds: tuple[Kind, ...]
    views: int = 1
    in_batch: bool = False
    classes_in_batch: bool = False
    whole_batch: bool = False
    ranks: bool = False
    needs_targets: bool = True
    teacher: Literal["", "scores", "vectors"] = ""
    reconstructs: bool = False
    truncates_targets: bool = False

    @dataclass(frozen=True)
    class Params:
        pass

    params: Any
    known_positives: KnownPositives | None = None

    def __init__(self, params: Any = None, dim: int = 0, labels: int = 0) -> None:
        super().__init__()
        self.params = self.Params() if params is None else params
        self.dim = dim
        self.labels = labels

    def set_known_positives(self, relation: KnownPositives) -> None:
        """Mask these pairs as false negatives; the ids passed to ``forward`` are those of ``relation``."""
        self.known_positives = relation

    def encoded_columns(self, columns: int) -> int:
        """Return the number of leading text columns, of ``columns``, whose vectors by the teacher are the targets."""
        return columns

    def prepare_teacher(self, values: np.ndarray) -> None:
        """Adapt to the teacher's scores or vectors (m, d) of the training rows, before the first step."""

    def align_teacher(self, targets: Tensor) -> Tensor:
        """Return the teacher's vectors (…, d) with the width of the embeddings."""
        return targets

    def share_weights(self, encoder: Trainable) -> None:
        """Take over parameters of the encoder, which the optimizer counts as the encoder's."""

    def corrupt(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return the encoder's inputs of a batch with noise."""
        return inputs

    @property
    def initializes_head(self) -> bool:
        """True if :meth:`initialize_head` should be called before training."""
        return False

    def initialize_head(self, columns: Sequence[Tensor], targets: Tensor | None) -> None:
        """Initialize the head from the base encoder's embeddings of up to all training rows, one (n, dim) tensor per text column."""

    def forward(self, columns: Sequence[Tensor], targets: Tensor | None = None, ids: Sequence[Tensor] | None = None) -> Tensor:
        """Return the loss of a batch of b rows, a float32 scalar (float64 for float64 embeddings), with or without autocast.

        With ``torch.distributed`` in training mode, a ``whole_batch`` loss first gathers the rows of all processes, with gradient: every
        process must call it at the same step, and returns the loss of the global batch.

        Args:
            columns: a (b, dim) tensor per text column; with two ``views``, the passes of a column are consecutive.
            targets: (b,) scores in [0, 1] (floating point) or class ids (integer), those of the :attr:`teacher`, or ``None``.
            ids: (b,) int64 text ids per column, equal for equal texts in every process; used by in-batch losses only.
        """
        if self.teacher and targets is None:
            raise missing_teacher(self.title)
        if self.needs_targets and targets is None:
            raise StudioError(_("{title} needs a score or a label for each row", title=self.title), "choose the column that contains it")
        columns = [to_full_precision(column) for column in columns]
        if self.whole_batch and self.training and process_count() > 1:
            columns = [gather_rows(column) for column in columns]
            targets = None if targets is None else gather_rows(targets)
            ids = None if ids is None else [gather_rows(column) for column in ids]
        with torch.autocast(columns[0].device.type, enabled=False):
            return self.compute(columns, targets, ids)

    def pair_scores(self, left: Tensor, right: Tensor) -> Tensor:
        """Return the similarity of each pair, (b, dim), (b, dim) → (b,); the cosine unless the architecture overrides it."""
        return cosine(left, right)

    def score_matrix(self, anchors: Tensor, candidates: Tensor) -> Tensor:
        """Return the similarity of every anchor (a, dim) to every candidate (c, dim): (a, c)."""
        return unit(anchors) @ unit(candidates).T

    @abstractmethod
    def compute(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        """Return the loss for the inputs of :meth:`forward`, in full precision."""

    def as_similarities(self, targets: Tensor | None, like: Tensor) -> Tensor:
        """Convert targets to similarities in [0, 1] in the dtype of ``like``; class ids are evenly spaced in order (0, 1, 2 → 0, ½, 1)."""
        assert targets is not None
        return targets.to(like.dtype) if targets.is_floating_point() else targets.to(like.dtype) / max(self.labels - 1, 1)


def missing_teacher(title: str) -> StudioError:
    """Return the error that a loss has no teacher to imitate."""
    return StudioError(
        _("{title} needs a teacher: there are no scores or vectors to imitate", title=title),
        "choose a teacher model (--teacher MODEL), or a file with a column of a teacher's scores or vectors",
    )


def to_full_precision(embeddings: Tensor) -> Tensor:
    """Convert half-precision embeddings to float32; return others unchanged."""
    return embeddings.float() if embeddings.dtype in (torch.float16, torch.bfloat16) else embeddings


def losses_for(kind: Kind) -> list[str]:
    """Return the names of the losses that can be trained on a kind of examples."""
    return [name for name in LOSSES if kind in LOSSES[name].kinds]
