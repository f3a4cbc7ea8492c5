"""Value and gradient against sentence-transformers, where it has the same loss. ``pytest -s`` prints the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from sentence_transformers.sentence_transformer import losses as peer
from sentence_transformers.sentence_transformer.losses.triplet import TripletDistanceMetric
from torch import Tensor, nn

from sbert_studio.losses import Loss, MatryoshkaLoss

from .batches import CLASSES, DIM, Batch, batch, make

TOLERANCE = 1e-6


class Given(nn.Module):
    """In place of an encoder: each column's "features" are its embeddings."""

    def __init__(self) -> None:
        super().__init__()
        self.device = torch.device("cpu")

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        return dict(features)

    def get_embedding_dimension(self) -> int:
        return DIM


class _WeightedAnglE(nn.Module):
    """AnglE's weighted sum put together from the peer's own losses; for positive pairs its in-batch term is the peer's ranking."""

    def __init__(self) -> None:
        super().__init__()
        self.terms = [(2.0, peer.CoSENTLoss(Given())), (3.0, peer.MultipleNegativesRankingLoss(Given())), (1.0, peer.AnglELoss(Given()))]

    def forward(self, features: Any, targets: Tensor) -> Any:
        return sum(weight * loss(features, targets) for weight, loss in self.terms)


def binary(rows: int = 9, **settings: Any) -> Batch:
    data = batch("labelled_pairs", rows, **settings)
    return Batch(data.columns, (torch.arange(rows) // 2 + torch.arange(rows)) % 2, data.ids)


def same_head(name: str, **settings: Any) -> tuple[Loss, nn.Module]:
    parts = settings["concatenation"].split(",")
    ours = make("softmax", **settings).double()
    theirs = peer.SoftmaxLoss(Given(), DIM, CLASSES, "u" in parts, "|u-v|" in parts, "u*v" in parts).double()
    theirs.classifier.load_state_dict(ours.head.state_dict())  # type: ignore[union-attr]
    return ours, theirs


def matryoshka(name: str, theirs: Callable[[nn.Module], nn.Module], dims: list[int], weights: list[float]) -> tuple[Loss, nn.Module]:
    model = Given()
    return MatryoshkaLoss(lambda width: make(name, dim=width), DIM, dims, weights), peer.MatryoshkaLoss(model, theirs(model), dims, weights)


class Guide(Given):
    """In place of a guide: maps a column's embeddings to others, so that no text need be tokenized."""

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"sentence_embedding": guided(features["sentence_embedding"]).detach()}


def guided(vectors: Tensor) -> Tensor:
    return vectors @ torch.randn(DIM, 4, generator=torch.Generator().manual_seed(5), dtype=vectors.dtype)


def gist(data: Batch, **settings: Any) -> tuple[Loss, nn.Module, Batch]:
    ours = make("gist", **settings)
    strategy = "relative" if settings.pop("relative_margin", False) else "absolute"
    theirs = peer.GISTEmbedLoss.__new__(peer.GISTEmbedLoss)  # its constructor needs tokenizers, which the embeddings replace
    nn.Module.__init__(theirs)
    theirs.model, theirs.guide, theirs.must_retokenize, theirs.gather_across_devices = Given(), Guide(), False, False
    theirs.similarity_fct, theirs.cross_entropy_loss, theirs.margin_strategy = nn.CosineSimilarity(dim=-1), nn.CrossEntropyLoss(), strategy
    for name in ("temperature", "margin", "contrast_anchors", "contrast_positives"):
        setattr(theirs, name, settings.get(name, getattr(ours.params, name)))
    return ours, theirs, Batch(data.columns, torch.stack([guided(column) for column in data.columns], dim=1), [])


def taught(name: str, ours: dict[str, Any], theirs: nn.Module, kind: str = "triplets", **settings: Any) -> tuple[Loss, nn.Module, Batch]:
    return make(name, **ours), theirs, batch(kind, name=name, **settings)


def margins(data: Batch) -> Batch:
    return Batch(data.columns, data.targets[:, :1] - data.targets[:, 1:], data.ids)


SYMMETRIC = {"directions": ("query_to_doc", "doc_to_query"), "partition_mode": "per_direction"}
CASES: dict[str, Callable[[], tuple[Loss, nn.Module, Batch]]] = {
    "cosine": lambda: (make("cosine"), peer.CosineSimilarityLoss(Given()), batch("scored_pairs")),
    "cosent, scores": lambda: (make("cosent"), peer.CoSENTLoss(Given()), batch("scored_pairs", 40)),
    "cosent, 0/1": lambda: (make("cosent", labels=2), peer.CoSENTLoss(Given()), binary(40)),
    "cosent, ordered classes, λ 5": lambda: (make("cosent", scale=5.0), peer.CoSENTLoss(Given(), 5.0), batch("labelled_pairs", 40)),
    "angle, scores": lambda: (make("angle"), peer.AnglELoss(Given()), batch("scored_pairs", 40)),
    "angle, odd width": lambda: (make("angle"), peer.AnglELoss(Given()), batch("scored_pairs", dim=7)),
    "angle, with CoSENT and in-batch negatives": lambda: (
        make("angle", labels=2, cosine_weight=2.0, in_batch_weight=3.0),
        _WeightedAnglE(),
        Batch(batch("labelled_pairs").columns, torch.ones(9, dtype=torch.int64), []),
    ),
    "contrastive, cosine": lambda: (make("contrastive", labels=2), peer.ContrastiveLoss(Given()), binary()),
    "contrastive, euclidean": lambda: (
        make("contrastive", labels=2, distance="euclidean", margin=3.0),
        peer.ContrastiveLoss(Given(), lambda x, y: (x - y).norm(dim=-1), 3.0),
        binary(),
    ),
    "online contrastive": lambda: (make("online_contrastive", labels=2), peer.OnlineContrastiveLoss(Given()), binary(30)),
    "online contrastive, similar only": lambda: (
        make("online_contrastive", labels=2),
        peer.OnlineContrastiveLoss(Given()),
        Batch(batch("labelled_pairs").columns, torch.ones(9, dtype=torch.int64), []),
    ),
    "online contrastive, dissimilar only": lambda: (
        make("online_contrastive", labels=2),
        peer.OnlineContrastiveLoss(Given()),
        Batch(batch("labelled_pairs").columns, torch.zeros(9, dtype=torch.int64), []),
    ),
    **{
        f"triplet, {metric.lower()}": lambda metric=metric: (
            make("triplet", distance=metric.lower(), margin=1.0),
            peer.TripletLoss(Given(), getattr(TripletDistanceMetric, metric), 1.0),
            batch("triplets"),
        )
        for metric in ("EUCLIDEAN", "COSINE", "MANHATTAN")
    },
    **{
        f"softmax, {concatenation}": lambda concatenation=concatenation: (
            *same_head("softmax", concatenation=concatenation),
            batch("labelled_pairs"),
        )
        for concatenation in ("u,v,|u-v|", "u,v,|u-v|,u*v", "u,v,u*v", "|u-v|,u*v", "|u-v|", "u*v", "u,v")
    },
    "in-batch": lambda: (make("in_batch"), peer.MultipleNegativesRankingLoss(Given()), batch("positive_pairs")),
    "in-batch, two hard negatives": lambda: (make("in_batch"), peer.MultipleNegativesRankingLoss(Given()), batch("triplets", negatives=2)),
    "in-batch, symmetric": lambda: (
        make("in_batch", symmetric=True),
        peer.MultipleNegativesRankingLoss(Given(), **SYMMETRIC),
        batch("triplets"),
    ),
    "batch-hard, cosine": lambda: (
        make("batch_hard"),
        peer.BatchHardTripletLoss(Given(), peer.BatchHardTripletLossDistanceFunction.cosine_distance, 0.2),
        batch("labelled_texts", 30),
    ),
    "batch-hard, euclidean, ε 5": lambda: (
        make("batch_hard", distance="euclidean", margin=5.0),
        peer.BatchHardTripletLoss(Given()),
        batch("labelled_texts", 30),
    ),
    "batch-hard, soft margin": lambda: (
        make("batch_hard", distance="euclidean", soft_margin=True),
        peer.BatchHardSoftMarginTripletLoss(Given()),
        batch("labelled_texts", 30),
    ),
    "simcse": lambda: (make("simcse"), peer.MultipleNegativesRankingLoss(Given()), batch("sentences")),
    "simcse, τ 0.1": lambda: (make("simcse", temperature=0.1), peer.MultipleNegativesRankingLoss(Given(), 10.0), batch("sentences")),
    "simcse, supervised": lambda: (make("simcse_supervised"), peer.MultipleNegativesRankingLoss(Given()), batch("triplets")),
    "margin mse": lambda: taught("margin_mse", {"similarity": "dot"}, peer.MarginMSELoss(Given())),
    "margin mse, cosine, three negatives": lambda: taught(
        "margin_mse", {}, peer.MarginMSELoss(Given(), nn.CosineSimilarity(dim=-1)), negatives=3
    ),
    "margin mse, margins": lambda: (
        make("margin_mse", similarity="dot"),
        peer.MarginMSELoss(Given()),
        margins(batch("triplets", negatives=2, name="margin_mse")),
    ),
    "distribution of a teacher": lambda: taught(
        "distill_kl",
        {"similarity": "dot", "temperature": 1.0, "teacher_temperature": 1.0},
        peer.DistillKLDivLoss(Given()),
        negatives=2,
    ),
    "distribution of a teacher, cosine": lambda: taught(
        "distill_kl",
        {"temperature": 0.3, "teacher_temperature": 2.0},
        peer.DistillKLDivLoss(Given(), nn.CosineSimilarity(dim=-1), student_temperature=0.3, teacher_temperature=2.0),
    ),
    "vectors of a teacher": lambda: taught("embedding_mse", {}, peer.MSELoss(Given()), "positive_pairs"),
    "vectors of a teacher, shared by translations": lambda: (
        make("embedding_mse"),
        peer.MSELoss(Given()),
        Batch(batch("positive_pairs").columns, batch("positive_pairs", seed=1).columns[0], []),
    ),
    "gist": lambda: gist(batch("positive_pairs", 40)),
    "gist, one negative": lambda: gist(batch("triplets", 40), temperature=0.1, margin=0.2),
    "gist, relative margin, positives only": lambda: gist(
        batch("triplets", 40), relative_margin=True, margin=0.1, temperature=0.05, contrast_anchors=False
    ),
    "gist, anchors only": lambda: gist(batch("positive_pairs", 40), temperature=0.05, contrast_positives=False),
    "matryoshka of in-batch": lambda: (
        *matryoshka("in_batch", peer.MultipleNegativesRankingLoss, [DIM, 6, 2], [1.0, 0.5, 0.25]),
        batch("triplets"),
    ),
    "matryoshka of cosent": lambda: (*matryoshka("cosent", peer.CoSENTLoss, [DIM, 4], [1.0, 1.0]), batch("scored_pairs")),
}


@pytest.mark.parametrize("case", CASES)
def test_value_and_gradient_equal_sentence_transformers(case: str) -> None:
    objective, theirs, data = CASES[case]()
    mine, other = data.leaves(), data.leaves()
    value = objective(mine, data.targets)
    reference = theirs([{"sentence_embedding": column} for column in other], data.targets)
    value.backward()
    reference.backward()

    gradients = [(a.grad, b.grad) for a, b in zip(mine, other, strict=True)]
    gradients += [(a.grad, b.grad) for a, b in zip(objective.parameters(), theirs.parameters(), strict=True)]
    # The peer's loss leaves a column out of its graph where it ignores it; ours may give it a gradient of 0.
    differences = [
        (a if b is None else b if a is None else a - b).abs().max().item() for a, b in gradients if a is not None or b is not None
    ]
    assert any(a is not None and a.abs().max() > 1e-4 for a, _ in gradients) or "only" in case, "a gradient of 0 would prove nothing"
    assert abs(value - reference).item() < TOLERANCE
    assert max(differences) < TOLERANCE
