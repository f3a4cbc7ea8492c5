"""Objectives of texts with a category: siblings are positives and never negatives, equal texts are neither."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from sbert_studio.losses import LOSSES

from . import equations
from .batches import Batch, batch, make

NAMES = [name for name in LOSSES if LOSSES[name].classes_in_batch]


def members(data: Batch, i: int) -> tuple[list[int], list[int]]:
    """The siblings of text i, and the texts of other classes; neither says the same as i."""
    assert data.targets is not None
    others = [j for j in range(len(data.targets)) if data.ids[0][j] != data.ids[0][i]]
    return [j for j in others if data.targets[j] == data.targets[i]], [j for j in others if data.targets[j] != data.targets[i]]


def supcon(vectors: Tensor, data: Batch, temperature: float) -> Tensor:
    terms = []
    for i, z in enumerate(vectors):
        siblings, others = members(data, i)
        if siblings:
            below = sum((equations.cos(z, vectors[a]) / temperature).exp() for a in (*siblings, *others))
            logs = [((equations.cos(z, vectors[p]) / temperature).exp() / below).log() for p in siblings]
            terms.append(-sum(logs) / len(siblings))
    return equations.mean(terms)


def batch_hard(vectors: Tensor, data: Batch, distance: str, margin: float | None) -> Tensor:
    terms = []
    for i, z in enumerate(vectors):
        siblings, others = members(data, i)
        if siblings and others:
            farthest = max(equations.distance(z, vectors[p], distance) for p in siblings)
            nearest = min(equations.distance(z, vectors[n], distance) for n in others)
            gap = farthest - nearest
            terms.append((1 + gap.exp()).log() if margin is None else equations.positive_part(gap + margin))
    return equations.mean(terms)


def repeated() -> Batch:
    """Nine texts of three classes, one of them alone in its class; text 4 repeats text 1, text 6 repeats text 0 under another class.
    Under dropout the vectors of two copies are not the same.
    """
    data = batch("labelled_texts", rows=9)
    assert data.targets is not None
    data.targets[:] = torch.tensor([0, 1, 0, 1, 1, 0, 1, 2, 0])
    for copy, first in ((4, 1), (6, 0)):
        data.ids[0][copy] = data.ids[0][first]
    return data


def agree(name: str, data: Batch, expected: Tensor, column: Tensor, **settings: object) -> None:
    ours = data.columns[0].detach().clone().requires_grad_()
    value = make(name, **settings)([ours], data.targets, data.ids)
    value.backward()
    expected.backward()
    assert value.item() == pytest.approx(expected.item(), abs=1e-9)
    assert ours.grad is not None and column.grad is not None
    assert torch.allclose(ours.grad, column.grad, atol=1e-9, rtol=0)
    assert ours.grad.abs().max() > 1e-4


@pytest.mark.parametrize("data", [batch("labelled_texts", 12), repeated()], ids=["distinct", "repeated"])
@pytest.mark.parametrize("temperature", [0.05, 0.5])
def test_supervised_contrastive_is_the_papers_equation(data: Batch, temperature: float) -> None:
    column = data.leaves()[0]
    agree("supcon", data, supcon(column, data, temperature), column, temperature=temperature)


def prototypes(vectors: Tensor, points: Tensor, data: Batch, temperature: float) -> Tensor:
    assert data.targets is not None
    terms = []
    for z, own in zip(vectors, data.targets.tolist(), strict=True):
        raised = [(equations.cos(z, point) / temperature).exp() for point in points]
        terms.append(-(raised[own] / sum(raised)).log())
    return equations.mean(terms)


@pytest.mark.parametrize("data", [batch("labelled_texts", 12), repeated()], ids=["distinct", "repeated"])
def test_prototypes_are_a_softmax_over_the_cosines_with_one_point_a_class(data: Batch) -> None:
    column, ours = data.leaves()[0], data.columns[0].detach().clone().requires_grad_()
    objective = make("supcon+prototypes", temperature=0.2, prototype_weight=0.7, prototype_temperature=0.3).double()
    points = objective.prototypes.detach().clone().requires_grad_()
    value = objective([ours], data.targets, data.ids)
    expected = supcon(column, data, 0.2) + 0.7 * prototypes(column, points, data, 0.3)
    value.backward()
    expected.backward()
    assert value.item() == pytest.approx(expected.item(), abs=1e-9)
    assert torch.allclose(ours.grad, column.grad, atol=1e-9, rtol=0)  # type: ignore[arg-type]
    assert torch.allclose(objective.prototypes.grad, points.grad, atol=1e-9, rtol=0) and points.grad.abs().max() > 1e-4  # type: ignore


def test_prototypes_begin_as_the_mean_of_their_class() -> None:
    objective = make("supcon+prototypes")
    before = objective.prototypes.detach().clone()
    vectors, classes = torch.randn(6, before.shape[1]), torch.tensor([0, 0, 1, 1, 1, 0])
    objective.initialize_head([vectors], classes)
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    for own in (0, 1):
        mean = unit[classes == own].mean(dim=0)
        assert torch.allclose(objective.prototypes[own], mean / mean.norm(), atol=1e-6)
    alone = before[2] / before[2].norm()
    assert torch.allclose(objective.prototypes[2], alone, atol=1e-6), "a class without a text keeps its direction"


@pytest.mark.parametrize("data", [batch("labelled_texts", 12), repeated()], ids=["distinct", "repeated"])
@pytest.mark.parametrize(("distance", "margin"), [("cosine", 0.2), ("euclidean", 5.0), ("cosine", None)])
def test_batch_hard_looks_at_the_farthest_sibling_and_the_nearest_other(data: Batch, distance: str, margin: float | None) -> None:
    column = data.leaves()[0]
    settings = {"soft_margin": True} if margin is None else {"margin": margin}
    agree("batch_hard", data, batch_hard(column, data, distance, margin), column, distance=distance, **settings)


@pytest.mark.parametrize("name", NAMES)
def test_a_text_that_says_the_same_is_no_negative(name: str) -> None:
    """Text 4 repeats text 1 under another class: told of it, the loss is lower than where the two must part."""
    data = batch("labelled_texts")
    data.columns[0][4] = data.columns[0][0]
    assert data.targets is not None and data.targets[4] != data.targets[0]
    apart = make(name)(data.columns, data.targets, data.ids).item()
    data.ids[0][4] = data.ids[0][0]
    assert make(name)(data.columns, data.targets, data.ids).item() < apart - 0.01


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("targets", [[0] * 6, list(range(6))], ids=["one class", "no siblings"])
def test_a_batch_that_teaches_nothing_costs_a_finite_loss(name: str, targets: Sequence[int]) -> None:
    data = batch("labelled_texts", rows=6)
    leaves = data.leaves()
    loss = make(name, labels=6)(leaves, torch.tensor(targets), data.ids)
    loss.backward()
    assert torch.isfinite(loss) and leaves[0].grad is not None and torch.isfinite(leaves[0].grad).all()
    if name != "supcon+prototypes" and (len(set(targets)) > 1 or name == "batch_hard"):
        assert loss.item() == 0 and torch.equal(leaves[0].grad, torch.zeros_like(leaves[0].grad))
