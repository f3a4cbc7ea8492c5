"""Losses that wrap another one: gradient caching and Matryoshka learning."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor, nn

from sbert_studio.errors import StudioError
from sbert_studio.losses import LOSSES, Loss, MatryoshkaLoss, build_loss
from sbert_studio.losses.matryoshka import truncate
from sbert_studio.training.steps import cached_backward

from .batches import CLASSES, DIM, PAIRS, batch, make

Chunk = list[Tensor]


def encoder(dropout: float, dtype: torch.dtype = torch.float64) -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(DIM, 16), nn.Tanh(), nn.Dropout(dropout), nn.Linear(16, DIM)).to(dtype)


def encode_with(model: nn.Module) -> Callable[[Chunk], Chunk]:
    return lambda chunk: list(model(torch.cat(chunk)).split(len(chunk[0])))


def chunks_of(columns: Sequence[Tensor], size: int) -> list[Chunk]:
    return [list(chunk) for chunk in zip(*(column.split(size) for column in columns), strict=True)]


def gradients(*modules: nn.Module) -> list[Tensor]:
    return [parameter.grad.clone() for module in modules for parameter in module.parameters() if parameter.grad is not None]


@pytest.mark.parametrize(("name", "kind"), PAIRS)
@pytest.mark.parametrize("size", [2, 9])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_the_gradient_is_that_of_the_whole_batch(name: str, kind: str, size: int, dropout: float) -> None:
    data, model, objective = batch(kind, name=name), encoder(dropout), make(name).double()
    chunks, encode = chunks_of(data.columns, size), encode_with(model)

    torch.manual_seed(7)
    columns = [torch.cat(column) for column in zip(*map(encode, chunks), strict=True)]
    expected_loss = objective(columns, data.targets, data.ids)
    expected_loss.backward()
    expected, expected_random = gradients(model, objective), torch.rand(1)
    model.zero_grad(), objective.zero_grad()

    torch.manual_seed(7)
    loss = cached_backward(objective, chunks, encode, data.targets, data.ids)
    assert torch.equal(torch.rand(1), expected_random), "the random state goes on as after one pass"
    assert not loss.requires_grad
    assert loss.item() == pytest.approx(expected_loss.item(), abs=1e-12)
    ours = gradients(model, objective)
    assert len(ours) == len(expected) > 0
    for mine, whole in zip(ours, expected, strict=True):
        assert torch.allclose(mine, whole, atol=1e-12, rtol=1e-9)


def test_only_one_chunk_has_a_graph_at_any_time() -> None:
    data, model = batch("positive_pairs", rows=12), encoder(0.1)
    alive: list[weakref.ref[Tensor]] = []
    with_graph: list[int] = []

    def encode(chunk: Chunk) -> Chunk:
        held = sum(1 for reference in alive if (tensor := reference()) is not None and tensor.requires_grad)
        hidden = model(torch.cat(chunk))
        alive.append(weakref.ref(hidden))
        with_graph.append(held)
        return list(hidden.split(len(chunk[0])))

    cached_backward(make("in_batch"), chunks_of(data.columns, 3), encode)
    assert len(with_graph) == 2 * 4
    assert max(with_graph) == 0, "an earlier chunk's graph was still there"


def test_under_autocast_weights_get_gradients_and_ignored_columns_none() -> None:
    data, model = batch("positive_pairs", dtype=torch.float32), encoder(0.0, torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cached_backward(make("in_batch"), chunks_of(data.columns, 3), encode_with(model))
    assert all(gradient.abs().sum() > 0 for gradient in gradients(model))
    assert len(gradients(model)) == 4

    class First(Loss):
        title = "First"
        summary = "Looks at the first column only."
        kinds = ("positive_pairs",)
        needs_targets = False

        def compute(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
            return columns[0].square().mean()

    data, model = batch("positive_pairs"), encoder(0.0)
    cached_backward(First(dim=DIM, labels=CLASSES), chunks_of(data.columns, 4), encode_with(model))
    ours = gradients(model)
    model.zero_grad()
    model(data.columns[0]).square().mean().backward()
    for mine, expected in zip(ours, gradients(model), strict=True):
        assert torch.allclose(mine, expected)


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_it_is_the_weighted_sum_of_the_objective_on_shortened_embeddings_and_needs_the_same(name: str, kind: str) -> None:
    data = batch(kind, name=name)
    wrapped = MatryoshkaLoss(lambda width: make(name, dim=width), DIM, [2, 6], [0.5, 0.25]).double()
    expected = 0.0
    for width, weight in ((DIM, 1.0), (6, 0.25), (2, 0.5)):
        columns = [column[:, :width] for column in data.columns]
        columns = [
            short * column.norm(dim=1, keepdim=True) / short.norm(dim=1, keepdim=True)
            for short, column in zip(columns, data.columns, strict=True)
        ]
        targets = data.targets
        if LOSSES[name].truncates_targets and targets is not None:
            targets = targets[..., :width] * targets.norm(dim=-1, keepdim=True) / targets[..., :width].norm(dim=-1, keepdim=True)
        expected += weight * make(name, dim=width).double()(columns, targets, data.ids).item()
    assert wrapped(data.columns, data.targets, data.ids).item() == pytest.approx(expected, abs=1e-9)
    wrapped, inner = build_loss(name, {}, dim=DIM, labels=CLASSES, matryoshka_dims=(4,)), make(name)
    assert isinstance(wrapped, MatryoshkaLoss)
    for attribute in ("name", "kinds", "views", "in_batch", "whole_batch", "ranks", "needs_targets", "params", "labels"):
        assert getattr(wrapped, attribute) == getattr(inner, attribute)
    assert kind in wrapped.kinds


def test_softmax_gets_a_head_for_each_width_and_zeros_a_finite_gradient() -> None:
    wrapped = build_loss("softmax", {}, dim=DIM, labels=CLASSES, matryoshka_dims=(4, DIM))
    assert sorted(tuple(parameter.shape) for parameter in wrapped.parameters() if parameter.ndim == 2) == [(3, 12), (3, 30)]
    data = batch("labelled_pairs", dtype=torch.float32)
    wrapped(data.columns, data.targets).backward()
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in wrapped.parameters())
    embeddings = torch.zeros(3, DIM, requires_grad=True)
    truncate(embeddings, 4).sum().backward()
    assert torch.isfinite(embeddings.grad).all()  # type: ignore[arg-type]


@pytest.mark.parametrize("dims", [(0,), (DIM + 1,), (4, 4), (-2, 4)])
def test_impossible_widths_are_refused(dims: tuple[int, ...]) -> None:
    with pytest.raises(StudioError, match="Matryoshka widths"):
        build_loss("cosine", {}, dim=DIM, matryoshka_dims=dims)
