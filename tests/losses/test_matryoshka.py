"""Matryoshka wraps any objective: the sum over widths, a head for each, the wrapped one's needs."""

from __future__ import annotations

import pytest
import torch

from sbert_studio.errors import StudioError
from sbert_studio.losses import MatryoshkaLoss, build_loss
from sbert_studio.losses.matryoshka import truncate

from .batches import CLASSES, DIM, PAIRS, batch, make


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_it_is_the_weighted_sum_of_the_objective_on_shortened_embeddings(name: str, kind: str) -> None:
    data = batch(kind)
    wrapped = MatryoshkaLoss(lambda width: make(name, dim=width), DIM, [2, 6], [0.5, 0.25]).double()
    expected = 0.0
    for width, weight in ((DIM, 1.0), (6, 0.25), (2, 0.5)):
        columns = [column[:, :width] for column in data.columns]
        columns = [
            short * column.norm(dim=1, keepdim=True) / short.norm(dim=1, keepdim=True)
            for short, column in zip(columns, data.columns, strict=True)
        ]
        expected += weight * make(name, dim=width).double()(columns, data.targets, data.ids).item()
    assert wrapped(data.columns, data.targets, data.ids).item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_it_needs_what_the_wrapped_objective_needs(name: str, kind: str) -> None:
    wrapped, inner = build_loss(name, {}, dim=DIM, labels=CLASSES, matryoshka_dims=(4,)), make(name)
    assert isinstance(wrapped, MatryoshkaLoss)
    for attribute in ("name", "kinds", "views", "in_batch", "whole_batch", "ranks", "needs_targets", "params", "labels"):
        assert getattr(wrapped, attribute) == getattr(inner, attribute)
    assert kind in wrapped.kinds


def test_softmax_gets_a_head_for_each_width() -> None:
    wrapped = build_loss("softmax", {}, dim=DIM, labels=CLASSES, matryoshka_dims=(4, DIM))
    assert sorted(tuple(parameter.shape) for parameter in wrapped.parameters() if parameter.ndim == 2) == [(3, 12), (3, 30)]
    data = batch("labelled_pairs", dtype=torch.float32)
    wrapped(data.columns, data.targets).backward()
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in wrapped.parameters())


def test_shortened_zeros_have_a_finite_gradient() -> None:
    embeddings = torch.zeros(3, DIM, requires_grad=True)
    truncate(embeddings, 4).sum().backward()
    assert torch.isfinite(embeddings.grad).all()  # type: ignore[arg-type]


@pytest.mark.parametrize("dims", [(0,), (DIM + 1,), (4, 4), (-2, 4)])
def test_impossible_widths_are_refused(dims: tuple[int, ...]) -> None:
    with pytest.raises(StudioError, match="Matryoshka widths"):
        build_loss("cosine", {}, dim=DIM, matryoshka_dims=dims)
