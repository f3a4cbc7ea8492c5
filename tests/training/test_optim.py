"""A table stepped by the rows that were read is the table that AdamW over all rows would give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from sbert_studio.training.optim import Optimizer

from .tiny import small_spec

ROWS, STEPS = 5_000, 12


def table() -> nn.Parameter:
    torch.manual_seed(3)
    return nn.Parameter(torch.randn(ROWS, 7))


def gradients() -> Iterator[torch.Tensor]:
    """Of each step, sparse: some rows again and again, most once, so that the copy outgrows its room."""
    random = np.random.default_rng(1)
    for _ in range(STEPS):
        rows = torch.from_numpy(np.concatenate([random.integers(0, 50, 40), random.integers(0, ROWS, 400)]))
        yield torch.sparse_coo_tensor(
            rows[None], torch.from_numpy(random.standard_normal((440, 7)).astype(np.float32)), (ROWS, 7), check_invariants=True
        )


def optimiser(parameter: nn.Parameter, *, by_rows: bool) -> Optimizer:
    spec = small_spec(learning_rate=0.1, max_grad_norm=0.5, weight_decay=0.3 if by_rows else 0.0)
    return Optimizer({"table": parameter}, spec, STEPS, ["table"] if by_rows else [])


@pytest.mark.parametrize("sparse", [True, False])
def test_the_steps_are_those_over_all_rows(sparse: bool) -> None:
    ours, plain, untouched = table(), table(), table()
    one, other = optimiser(ours, by_rows=True), optimiser(plain, by_rows=False)
    read = torch.zeros(ROWS, dtype=torch.bool)
    for step, gradient in enumerate(gradients()):
        if step != 4:  # whose loss is no number: it changes nothing
            read[gradient.coalesce().indices()[0]] = True
        ours.grad, plain.grad = gradient if sparse else gradient.to_dense(), gradient.to_dense()
        loss = torch.tensor(float("nan") if step == 4 else 1.0)
        torch.testing.assert_close(one.step(step, loss), other.step(step, loss))
    torch.testing.assert_close(ours, plain, atol=1e-6, rtol=0)
    assert (ours != untouched).any(dim=1).equal(read) and 1_024 < int(read.sum()) < ROWS


@pytest.mark.parametrize("by_rows", [True, False])
def test_the_state_of_rows_and_that_of_a_whole_table_are_taken_for_each_other(by_rows: bool) -> None:
    first, second = table(), table()
    one, other = optimiser(first, by_rows=by_rows), optimiser(second, by_rows=not by_rows)
    for step, gradient in enumerate(gradients()):
        if step == STEPS // 2:
            second.data.copy_(first)
            other.load(one.tensors())
        for parameter, taken in ((first, one), (second, other)) if step >= STEPS // 2 else ((first, one),):
            parameter.grad = gradient.to_dense()
            taken.step(step, torch.tensor(1.0))
    torch.testing.assert_close(second, first, atol=1e-6, rtol=0)


def decaying(parameter: nn.Parameter) -> Optimizer:
    """Of a large table that no encoder has named, as a transformer's vocabulary."""
    return Optimizer({"words": parameter}, small_spec(learning_rate=0.1, max_grad_norm=0.5, weight_decay=0.3), STEPS)


def test_a_vocabulary_is_stepped_by_rows_until_most_were_read_and_all_of_it_decays() -> None:
    ours, plain = table(), table()
    one, other = decaying(ours), decaying(plain)
    by_rows, read = [], torch.zeros(ROWS, dtype=torch.bool)
    for step, gradient in enumerate(gradients()):
        loss = torch.tensor(float("nan") if step == 4 else 1.0)
        if step != 4:
            read[gradient.coalesce().indices()[0]] = True
        ours.grad, plain.grad = gradient, gradient.to_dense()
        torch.testing.assert_close(one.step(step, loss), other.step(step, loss))
        by_rows.append("words/rows" in one.tensors())
        assert torch.equal(ours[~read], plain[~read])  # to the bit
    assert by_rows == sorted(by_rows, reverse=True) and by_rows[0] and not by_rows[-1]
    torch.testing.assert_close(ours, plain, atol=1e-6, rtol=0)
    assert (ours[~read].abs() < table()[~read].abs()).all()


@pytest.mark.parametrize("halt", [1, 3, 4, 9])
@pytest.mark.parametrize("made", [partial(optimiser, by_rows=True), decaying], ids=["a table by rows", "a vocabulary"])
def test_one_that_goes_on_from_a_checkpoint_ends_in_the_same_bits(made: Callable[[nn.Parameter], Optimizer], halt: int) -> None:
    whole, cut = table(), table()
    uninterrupted, before, after = (made(item) for item in (whole, cut, cut))
    for step, gradient in enumerate(gradients()):
        if step == halt:
            after.load({name: value.clone() for name, value in before.tensors().items()})
        for parameter, one in ((whole, uninterrupted), (cut, before if step < halt else after)):
            parameter.grad = gradient
            one.step(step, torch.tensor(1.0))
    assert torch.equal(whole, cut)
    assert all(torch.equal(value, after.tensors()[name]) for name, value in uninterrupted.tensors().items())


def test_a_vocabulary_goes_on_from_the_state_of_a_version_that_stepped_all_of_it() -> None:
    ours, plain = table(), table()
    one, other = decaying(ours), decaying(plain)
    for step, gradient in enumerate(gradients()):
        if step == STEPS // 2:
            ours.data.copy_(plain)
            one.load({name: value.clone() for name, value in other.tensors().items()})
        plain.grad = gradient.to_dense()
        other.step(step, torch.tensor(1.0))
        if step >= STEPS // 2:
            ours.grad = gradient
            one.step(step, torch.tensor(1.0))
            assert "words/rows" not in one.tensors()
    torch.testing.assert_close(ours, plain, atol=1e-6, rtol=0)


def test_a_new_round_steps_the_rows_that_it_reads() -> None:
    parameter = table()
    one = decaying(parameter)
    for step, gradient in enumerate(gradients()):
        parameter.grad = gradient
        one.step(step, torch.tensor(1.0))
    one.reset()
    assert not one.tensors()
    parameter.grad = next(gradients())
    one.step(0, torch.tensor(1.0))
    assert len(one.tensors()["words/rows"]) < ROWS // 2
