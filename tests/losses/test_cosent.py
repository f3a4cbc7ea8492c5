"""CoSENT without the square of the batch: ties, degenerate batches, range and size."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from sbert_studio.losses.cosent import ranking_loss


def quadratic(scores: Tensor, targets: Tensor) -> Tensor:
    """The definition, with a matrix of all pairs."""
    differences = scores[None, :] - scores[:, None]  # [i, j] = s_j − s_i
    chosen = differences[targets[:, None] > targets[None, :]]
    return torch.cat([scores.new_zeros(1), chosen]).logsumexp(0)


@pytest.mark.parametrize("levels", [2, 3, 6, 10_000])
@pytest.mark.parametrize("rows", [2, 17, 300])
def test_it_equals_the_quadratic_form_with_and_without_ties(levels: int, rows: int) -> None:
    random = torch.Generator().manual_seed(levels + rows)
    scores = 20 * (2 * torch.rand(rows, generator=random, dtype=torch.float64) - 1)
    targets = torch.randint(levels, (rows,), generator=random) / levels
    ours, theirs = scores.clone().requires_grad_(), scores.clone().requires_grad_()
    value, reference = ranking_loss(ours, targets), quadratic(theirs, targets)
    value.backward()
    reference.backward()
    assert value.item() == pytest.approx(reference.item(), abs=1e-9)
    assert torch.allclose(ours.grad, theirs.grad, atol=1e-9, rtol=0)  # type: ignore[arg-type]


def test_float32_keeps_six_digits_over_the_whole_range_of_cosines() -> None:
    random = torch.Generator().manual_seed(0)
    scores = 20 * (2 * torch.rand(500, generator=random) - 1)
    targets = torch.randint(5, (500,), generator=random)
    ours, theirs = scores.clone().requires_grad_(), scores.double().requires_grad_()
    value, reference = ranking_loss(ours, targets), quadratic(theirs, targets)
    value.backward()
    reference.backward()
    assert value.item() == pytest.approx(reference.item(), rel=1e-6)
    assert torch.allclose(ours.grad.double(), theirs.grad, atol=1e-6, rtol=1e-4)  # type: ignore[union-attr,arg-type]


@pytest.mark.parametrize("targets", [[0.5], [0.5, 0.5, 0.5]])
def test_without_two_different_targets_the_loss_is_zero_with_a_gradient_of_zero(targets: list[float]) -> None:
    scores = torch.linspace(-20, 20, len(targets)).requires_grad_()
    loss = ranking_loss(scores, torch.tensor(targets))
    loss.backward()
    assert loss.item() == 0
    assert torch.equal(scores.grad, torch.zeros(len(targets)))  # type: ignore[arg-type]


def test_scores_far_beyond_the_range_of_exp_do_not_overflow() -> None:
    scores = torch.tensor([2000.0, -2000.0, 0.0]).requires_grad_()
    loss = ranking_loss(scores, torch.tensor([0, 1, 2]))
    loss.backward()
    assert loss.item() == pytest.approx(4000)
    assert torch.allclose(scores.grad, torch.tensor([1.0, -1.0, 0.0]))  # type: ignore[arg-type]


def test_a_batch_of_a_hundred_thousand_pairs_saves_no_square_matrix() -> None:
    rows, saved = 100_000, []
    scores = torch.randn(rows, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: saved.append(tensor.numel()) or tensor, lambda tensor: tensor):
        loss = ranking_loss(scores, torch.arange(rows) % 7)
    loss.backward()
    assert max(saved) <= rows + 1
    assert torch.isfinite(scores.grad).all()  # type: ignore[arg-type]
