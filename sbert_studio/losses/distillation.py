"""Losses that imitate a teacher: its score margins, its distribution over candidates, or its vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ..data.schema.roles import Kind
from ..errors import StudioError
from ..i18n import _
from ..registry import setting
from .base import LOSSES, Loss, cosine

_PCA_ROWS = 20_000
SIMILARITIES = ("cosine", "dot")


class ScoreDistillationLoss(Loss):
    """Loss on the scores of an anchor with its positive and its k negatives, and on the teacher's scores of the same pairs.

    The targets are the teacher's scores (b, 1 + k), positive first, or its margins (b, k): positive minus negative.
    """

    kinds: tuple[Kind, ...] = ("triplets",)
    teacher = "scores"

    def candidate_scores(self, columns: Sequence[Tensor]) -> Tensor:
        """Return the student's scores (b, 1 + k) of each anchor with its candidates."""
        anchor, *candidates = columns
        if self.params.similarity == "cosine":
            return torch.stack([self.pair_scores(anchor, one) for one in candidates], dim=1)
        return torch.stack([(anchor * one).sum(-1) for one in candidates], dim=1)

    def teacher_scores(self, targets: Tensor | None, like: Tensor) -> Tensor:
        """Return the teacher's scores (b, 1 + k), up to a constant per row, in the dtype of ``like``.

        Raises:
            StudioError: there is another number of scores.
        """
        assert targets is not None
        width, scores = like.shape[1], targets.to(like.dtype)
        scores = scores[:, None] if scores.ndim == 1 else scores
        if scores.shape[1] == width - 1:
            return F.pad(-scores, (1, 0))
        if scores.shape[1] != width:
            raise StudioError(
                _("{found} teacher scores for {width} candidates per row", found=scores.shape[1], width=width),
                "give one score per candidate, positive first, or one margin per negative",
            )
        return scores


@LOSSES.register("margin_mse")
class MarginMSELoss(ScoreDistillationLoss):
    """mean ((s(a, p) − s(a, n)) − (t(a, p) − t(a, n)))² over the rows and the negatives; s of the student, t of the teacher.

    Source: Hofstätter et al. 2020, arXiv:2010.02666, equation 7, with the dot product; also the loss of GPL (Wang et al. 2022).
    """

    title = "Margin MSE"
    summary = "Gives each pair of candidates the difference in score that a teacher, such as a cross-encoder, gives it."
    source = "Hofstätter et al. 2020, equation 7"

    @dataclass(frozen=True)
    class Params:
        similarity: str = setting("cosine", "The student's score: cosine or dot product.", choices=SIMILARITIES)
        scale: float = setting(
            1.0, "Factor of the student's scores; 10 or more for a teacher whose scores are logits.", min=0.01, max=1000, step=0.5
        )

    def compute(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        scores = self.params.scale * self.candidate_scores(columns)
        wanted = self.teacher_scores(targets, scores)
        return F.mse_loss(scores[:, :1] - scores[:, 1:], wanted[:, :1] - wanted[:, 1:])


@LOSSES.register("distill_kl")
class DistillKLDivLoss(ScoreDistillationLoss):
    """τ² · mean KL(softmax(t / τ_t) ‖ softmax(s / τ)) over the candidates of each row; s of the student, t of the teacher.

    Source: Hinton, Vinyals and Dean 2015, arXiv:1503.02531, section 2, as in sentence-transformers' ``DistillKLDivLoss``.
    """

    title = "Distribution of a teacher"
    summary = "Gives the candidates of each row the probabilities that a teacher, such as a cross-encoder, gives them."
    source = "Hinton et al. 2015, section 2"

    @dataclass(frozen=True)
    class Params:
        similarity: str = setting("cosine", "The student's score: cosine or dot product.", choices=SIMILARITIES)
        temperature: float = setting(0.05, "τ of the student: smaller is sharper.", min=0.005, max=100, step=0.005)
        teacher_temperature: float = setting(
            0.2, "τ of the teacher: smaller is sharper; about 2 for a teacher whose scores are logits.", min=0.005, max=100, step=0.05
        )

    def compute(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        scores = self.candidate_scores(columns)
        wanted = torch.softmax(self.teacher_scores(targets, scores) / self.params.teacher_temperature, dim=1)
        found = torch.log_softmax(scores / self.params.temperature, dim=1)
        squared: float = self.params.temperature**2
        return F.kl_div(found, wanted, reduction="batchmean") * squared


@LOSSES.register("embedding_mse")
class EmbeddingMSELoss(Loss):
    """mean (v − t)² over the rows, text columns and components; v of the student, t of the teacher.

    If the vectors differ in width, the teacher's are projected onto their principal components, or padded with zeros; their length stays.
    The targets are (b, d) for all columns, as for translations that share the vector of the source text, or (b, columns, d).
    Source: Reimers and Gurevych 2020, arXiv:2004.09813, section 3.
    """

    title = "Vectors of a teacher"
    summary = "Gives each text the teacher's vector, and each translation that of its source text; needs no labels."
    source = "Reimers & Gurevych 2020, section 3"
    kinds: tuple[Kind, ...] = ("sentences", "positive_pairs")
    teacher = "vectors"
    truncates_targets = True
    components: Tensor | None

    @dataclass(frozen=True)
    class Params:
        parallel: bool = setting(True, "Pairs are translations: both texts should have the teacher's vector of the first one.")

    def __init__(self, params: object = None, dim: int = 0, labels: int = 0) -> None:
        super().__init__(params, dim, labels)
        self.register_buffer("components", None, persistent=False)

    def encoded_columns(self, columns: int) -> int:
        return 1 if self.params.parallel else columns

    def prepare_teacher(self, values: np.ndarray) -> None:
        """Compute the principal components of wider vectors from up to 20,000 of them; inner products are preserved best."""
        if values.shape[1] <= self.dim:
            return
        some = np.asarray(values[np.linspace(0, len(values) - 1, min(len(values), _PCA_ROWS)).astype(np.int64)], np.float64)
        directions = np.linalg.eigh(some.T @ some)[1][:, ::-1][:, : self.dim]
        self.components = torch.from_numpy(np.ascontiguousarray(directions, np.float32))

    def align_teacher(self, targets: Tensor) -> Tensor:
        if self.components is not None and targets.shape[-1] == len(self.components):
            lengths = torch.linalg.vector_norm(targets, dim=-1, keepdim=True)
            targets = targets @ self.components.to(targets.dtype)
            stretched: Tensor = targets * (lengths / torch.linalg.vector_norm(targets, dim=-1, keepdim=True).clamp_min(1e-8))
            return stretched
        return F.pad(targets, (0, max(0, self.dim - targets.shape[-1])))

    def compute(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        assert targets is not None
        found = torch.stack(list(columns), dim=1)
        wanted = self.align_teacher(targets.to(found.dtype))
        wanted = wanted[:, None].expand_as(found) if wanted.ndim == 2 else wanted
        return F.mse_loss(found, wanted)


@LOSSES.register("gist")
class GISTEmbedLoss(Loss):
    """In-batch negatives, among the other anchors and positives too, without those that a guide finds as similar as the positive.

    mean_i −log (exp(cos(a_i, p_i) / τ) / Σ_c exp(cos(a_i, c) / τ)), c = p_i and all other anchors, positives and negatives of the batch
    with g(a_i, c) ≤ g(a_i, p_i) − margin, g the guide's cosine (for two positives g(p_i, p_j)). The targets are the guide's vectors
    (b, columns, d).
    Source: Solatorio 2024, arXiv:2402.16829, equations 1 to 6.
    """

    title = "Guided in-batch negatives (GISTEmbed)"
    summary = "In-batch negatives without those that a guide model finds more similar than the positive."
    source = "Solatorio 2024, equations 1 to 6"
    kinds: tuple[Kind, ...] = ("positive_pairs", "triplets")
    teacher = "vectors"
    in_batch = True
    whole_batch = True

    @dataclass(frozen=True)
    class Params:
        temperature: float = setting(0.05, "τ: smaller is sharper; 0.01 in the paper.", min=0.001, max=1, step=0.005)
        margin: float = setting(0.0, "Candidates within this margin below the positive are left out too.", min=-1, max=1, step=0.05)
        relative_margin: bool = setting(False, "The margin is a share of the positive's similarity instead of a difference.")
        contrast_anchors: bool = setting(True, "Other anchors are negatives too.")
        contrast_positives: bool = setting(True, "Positives should differ from other positives too.")

    def compute(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        assert targets is not None
        guides = list(targets.to(columns[0].dtype).unbind(dim=1))
        limit = cosine(guides[0], guides[1])[:, None]
        limit = limit - self.params.margin * (limit.abs() if self.params.relative_margin else 1.0)
        rows = torch.eye(len(limit), dtype=torch.bool, device=limit.device)
        sides = [(0, 1)]
        sides += [(0, 0)] if self.params.contrast_anchors else []
        sides += [(1, 1)] if self.params.contrast_positives else []
        sides += [(0, place) for place in range(2, len(columns))]
        scores = []
        for one, other in sides:
            left_out = self.score_matrix(guides[one], guides[other]) > limit
            if ids is not None:
                left_out |= self._equal_texts(ids, other)
            left_out = left_out & ~rows if (one, other) == (0, 1) else left_out | rows if one == other else left_out
            scores.append(self.score_matrix(columns[one], columns[other]).masked_fill(left_out, -torch.inf))
        own = torch.arange(len(limit), device=limit.device)
        return F.cross_entropy(torch.cat(scores, dim=1) / self.params.temperature, own)

    def _equal_texts(self, ids: Sequence[Tensor], other: int) -> Tensor:
        """Return the mask of candidates equal to the row's anchor or positive, known positives of it, or of a row with the same anchor."""
        anchors, positives, candidates = ids[0][:, None], ids[1][:, None], ids[other]
        equal = (candidates == anchors) | (candidates == positives)
        if other == 1:
            equal |= ids[0] == anchors
        if self.known_positives is not None:
            equal |= self.known_positives.contains(ids[0], candidates)
        return equal
