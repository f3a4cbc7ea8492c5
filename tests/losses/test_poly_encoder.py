"""Losses on a poly-encoder's scores: against naive loops, in value and gradient, and against the objectives of vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from sbert_studio.errors import StudioError
from sbert_studio.losses import LOSSES, POLY_ENCODER_LOSSES, build_loss, build_poly_encoder_loss, losses_of
from sbert_studio.losses.base import KnownPositives
from sbert_studio.models.poly_encoder import SHARPNESS

ROWS, CODES, WIDTH = 7, 3, 5
SCORES = torch.linspace(0, 1, ROWS, dtype=torch.float64)
BINARY = torch.tensor([0, 1, 1, 0, 1, 0, 1])


def rows_of(seed: int, codes: int = CODES) -> Tensor:
    drawn = torch.randn(ROWS, codes + 1, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return F.normalize(drawn, dim=-1).flatten(1)


def score(query: Tensor, candidate: Tensor) -> float:
    """Section 4.4, from one row's vectors of a query and another's of a candidate."""
    found, own = query.view(CODES + 1, WIDTH)[:-1].tolist(), candidate.view(CODES + 1, WIDTH)[-1].tolist()
    powers = [math.exp(SHARPNESS * sum(x * y for x, y in zip(one, own, strict=True))) for one in found]
    attended = [sum(power * one[place] for power, one in zip(powers, found, strict=True)) / sum(powers) for place in range(WIDTH)]
    return sum(x * y for x, y in zip(attended, own, strict=True))


def mse(columns: list[Tensor], targets: Tensor) -> float:
    return sum((score(a, b) - float(t)) ** 2 for a, b, t in zip(*columns, targets, strict=True)) / ROWS


def cosent(columns: list[Tensor], targets: Tensor) -> float:
    scores = [20 * score(a, b) for a, b in zip(*columns, strict=True)]
    wrong = [math.exp(low - high) for high, t in zip(scores, targets, strict=True) for low, u in zip(scores, targets, strict=True) if t > u]
    return math.log(1 + sum(wrong))


def in_batch(columns: list[Tensor], targets: Tensor | None) -> float:
    candidates = [row for column in columns[1:] for row in column]
    anchors = [place for place in range(ROWS) if targets is None or targets[place] == 1]
    total = 0.0
    for place in anchors:
        powers = [math.exp(20 * score(columns[0][place], candidate)) for candidate in candidates]
        total -= math.log(powers[place] / sum(powers))
    return total / len(anchors)


CASES: list[tuple[str, Tensor | None, int, int, Callable[..., float]]] = [
    ("cosine", SCORES, 0, 2, mse),
    ("cosine", BINARY, 2, 2, mse),
    ("cosent", SCORES, 0, 2, cosent),
    ("cosine+cosent", SCORES, 0, 2, lambda columns, targets: 5 * mse(columns, targets) + cosent(columns, targets)),
    ("in_batch", None, 0, 2, in_batch),
    ("in_batch", None, 0, 4, in_batch),
    ("in_batch", BINARY, 2, 2, in_batch),
]


@pytest.mark.parametrize(("name", "targets", "labels", "columns", "naive"), CASES)
def test_each_loss_is_its_equation(name: str, targets: Tensor | None, labels: int, columns: int, naive: Callable[..., float]) -> None:
    objective = build_poly_encoder_loss(name, {}, dim=(CODES + 1) * WIDTH, codes=CODES, labels=labels)
    given = [rows_of(seed).requires_grad_() for seed in range(columns)]
    value = objective(given, targets)
    assert value.item() == pytest.approx(naive([column.detach() for column in given], targets), abs=1e-9)
    assert torch.autograd.gradcheck(lambda *moved: objective(moved, targets), tuple(given))


@pytest.mark.parametrize("name", list(POLY_ENCODER_LOSSES))
@pytest.mark.parametrize("symmetric", [False, True])
def test_with_one_code_that_finds_the_pooled_vector_it_is_the_objective_of_vectors(name: str, symmetric: bool) -> None:
    values: dict[str, Any] = {"symmetric": symmetric} if name == "in_batch" else {}
    targets = None if name == "in_batch" else SCORES
    vectors = [rows_of(seed, codes=0) for seed in (1, 2)]
    mine = build_poly_encoder_loss(name, values, dim=2 * WIDTH, codes=1)([torch.cat([one, one], dim=1) for one in vectors], targets)
    assert mine.item() == pytest.approx(build_loss(name, values, dim=WIDTH)(vectors, targets).item(), abs=1e-12)


def test_known_positives_are_no_negatives_and_labels_that_part_texts_make_none() -> None:
    ids = torch.tensor([[0, 1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12, 13]])
    columns = [rows_of(1), rows_of(2)]
    objective = build_poly_encoder_loss("in_batch", {}, dim=20, codes=CODES)
    plain = objective(columns, None, list(ids))
    objective.set_known_positives(KnownPositives.from_rows(torch.cat([ids, torch.tensor([[0], [8]])], dim=1).numpy()))
    scores = torch.tensor([[20 * score(a, b) for b in columns[1]] for a in columns[0]], dtype=torch.float64)
    scores[0, 1] = -torch.inf
    masked = F.cross_entropy(scores, torch.arange(ROWS))
    assert objective(columns, None, list(ids)).item() == pytest.approx(masked.item(), abs=1e-9) != pytest.approx(plain.item())
    labelled = build_poly_encoder_loss("in_batch", {}, dim=20, codes=CODES, labels=2)
    labelled.set_known_positives(KnownPositives.from_rows(ids.numpy()))
    assert labelled(columns, BINARY, list(ids)).item() == pytest.approx(in_batch(columns, BINARY), abs=1e-9)


def test_without_a_positive_pair_nothing_is_learned_and_names_are_those_of_vectors() -> None:
    given = [rows_of(seed).requires_grad_() for seed in (1, 2)]
    loss = build_poly_encoder_loss("in_batch", {}, dim=20, codes=CODES, labels=2)(given, torch.zeros(ROWS, dtype=torch.int64))
    loss.backward()
    assert loss.item() == 0 and given[0].grad is not None and not given[0].grad.any()
    assert losses_of("poly") is POLY_ENCODER_LOSSES
    for name in POLY_ENCODER_LOSSES:
        assert POLY_ENCODER_LOSSES[name].Params is LOSSES[name].Params and LOSSES[name].name == name
    with pytest.raises(StudioError, match="no poly-encoder loss 'softmax'"):
        build_poly_encoder_loss("softmax", {}, dim=20, codes=CODES)
