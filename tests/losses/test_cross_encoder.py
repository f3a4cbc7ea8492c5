"""Losses on a cross-encoder's logits: against a naive loop, and against sentence-transformers, in value and gradient."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from sentence_transformers import CrossEncoder as Peer
from sentence_transformers.cross_encoder import losses as peer
from torch import Tensor, nn

from sbert_studio.errors import StudioError
from sbert_studio.losses import build_cross_encoder_loss

ROWS = 9
SCORES = torch.linspace(0, 1, ROWS, dtype=torch.float64)
BINARY = torch.tensor([0, 1, 1, 0, 1, 0, 0, 1, 1])
CLASSES = torch.tensor([0, 2, 1, 2, 1, 0, 0, 1, 2])


def logits(outputs: int) -> Tensor:
    return torch.randn(ROWS, outputs, dtype=torch.float64, generator=torch.Generator().manual_seed(5)).mul_(3).requires_grad_()


def sigma(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def naive(name: str, sigmoid: bool, rows: list[list[float]], targets: list[float]) -> float:
    total = 0.0
    for row, target in zip(rows, targets, strict=True):
        if name == "mse":
            total += ((sigma(row[0]) if sigmoid else row[0]) - target) ** 2
        elif name == "binary_cross_entropy":
            total -= target * math.log(sigma(row[0])) + (1 - target) * math.log(1 - sigma(row[0]))
        else:
            total -= math.log(math.exp(row[int(target)]) / sum(math.exp(value) for value in row))
    return total / len(rows)


CASES: list[tuple[str, dict[str, Any], str, Tensor, int]] = [
    ("mse", {}, "linear", SCORES, 0),
    ("mse", {}, "mlp", SCORES, 0),
    ("mse", {"sigmoid": "yes"}, "linear", SCORES, 0),
    ("mse", {"sigmoid": "no"}, "mlp", SCORES, 0),
    ("mse", {}, "mlp", BINARY, 2),
    ("binary_cross_entropy", {}, "linear", BINARY, 2),
    ("binary_cross_entropy", {}, "mlp", SCORES, 0),
    ("cross_entropy", {}, "linear", CLASSES, 3),
    ("cross_entropy", {}, "mlp", BINARY, 2),
]


@pytest.mark.parametrize(("name", "values", "head", "targets", "labels"), CASES)
def test_each_loss_is_its_equation(name: str, values: dict[str, Any], head: str, targets: Tensor, labels: int) -> None:
    objective = build_cross_encoder_loss(name, values, labels=labels, head=head)
    found = logits(objective.dim)
    value = objective([found], targets)
    sigmoid = values.get("sigmoid", "yes" if head == "mlp" else "no") == "yes"
    assert value.item() == pytest.approx(naive(name, sigmoid, found.tolist(), targets.tolist()), abs=1e-12)
    assert torch.autograd.gradcheck(lambda given: objective([given], targets), found)


class Given(Peer):
    """In place of a model: its scores are the logits that it is given."""

    def __init__(self, scores: Tensor) -> None:
        nn.Module.__init__(self)
        self.scores = scores

    num_labels = property(lambda self: self.scores.shape[1])  # type: ignore[assignment]
    device = property(lambda self: torch.device("cpu"))  # type: ignore[assignment]

    def preprocess(self, *_: Any, **__: Any) -> dict[str, Tensor]:  # type: ignore[override]
        return {}

    def forward(self, features: Any, **_: Any) -> dict[str, Tensor]:  # type: ignore[override]
        return {"scores": self.scores}


PEERS: list[tuple[str, str, Tensor, int, Any]] = [
    ("mse", "linear", SCORES.float(), 0, peer.MSELoss),
    ("mse", "mlp", SCORES.float(), 0, lambda model: peer.MSELoss(model, activation_fn=nn.Sigmoid())),
    ("binary_cross_entropy", "linear", BINARY, 2, peer.BinaryCrossEntropyLoss),
    ("cross_entropy", "linear", CLASSES, 3, peer.CrossEntropyLoss),
]


@pytest.mark.parametrize(("name", "head", "targets", "labels", "theirs"), PEERS)
def test_value_and_gradient_are_those_of_sentence_transformers(name: str, head: str, targets: Tensor, labels: int, theirs: Any) -> None:
    objective = build_cross_encoder_loss(name, {}, labels=labels, head=head)
    ours, given = (logits(objective.dim).detach().float().requires_grad_() for _ in range(2))
    value = objective([ours], targets)
    columns = [["a"] * ROWS, ["b"] * ROWS]
    reference = theirs(Given(given))(columns, targets)
    value.backward()
    reference.backward()
    assert value.item() == pytest.approx(reference.item(), abs=1e-6)
    torch.testing.assert_close(ours.grad, given.grad, atol=1e-6, rtol=0)


def test_errors() -> None:
    with pytest.raises(StudioError, match="two different labels"):
        build_cross_encoder_loss("cross_entropy", {}, labels=1)
    with pytest.raises(StudioError, match="no cross-encoder loss 'cosine'"):
        build_cross_encoder_loss("cosine", {})
    with pytest.raises(StudioError, match="needs a score or a label"):
        build_cross_encoder_loss("mse", {})([logits(1)], None)
    with pytest.raises(StudioError, match="sigmoid"):
        build_cross_encoder_loss("mse", {"sigmoid": "maybe"})
