"""What holds for every registered objective, on every kind of examples that it says it accepts."""

from __future__ import annotations

import pytest
import torch

from sbert_studio.errors import StudioError
from sbert_studio.losses import LOSSES, build_loss
from sbert_studio.registry import fields_of, parse_params

from .batches import CLASSES, DIM, PAIRS, Batch, batch, make

KINDS = {"scored_pairs", "labelled_pairs", "positive_pairs", "triplets", "labelled_texts", "sentences"}
every = pytest.mark.parametrize(("name", "kind"), PAIRS)


def finite_step(name: str, data: Batch) -> float:
    """The loss, after checking that it and all gradients are finite."""
    objective, leaves = make(name), data.leaves()
    loss = objective(leaves, data.targets, data.ids)
    assert loss.shape == ()
    assert torch.isfinite(loss)
    loss.backward()
    for tensor in (*leaves, *objective.parameters()):
        assert tensor.grad is None or torch.isfinite(tensor.grad).all()
    assert all(leaf.grad is not None for leaf in leaves), "the loss depends on every column"
    return loss.item()


@every
@pytest.mark.parametrize("extreme", ["zero", "identical", "tiny", "huge", "opposite", "half zero"])
def test_extreme_embeddings_stay_finite(name: str, kind: str, extreme: str) -> None:
    data = batch(kind, dtype=torch.float32, name=name)
    change = {
        "zero": lambda column, index: column * 0,
        "identical": lambda column, index: torch.ones_like(column),
        "tiny": lambda column, index: column * 1e-20,
        "huge": lambda column, index: column * 1e10,
        "opposite": lambda column, index: torch.ones_like(column) * (-1) ** index,
        "half zero": lambda column, index: column * (torch.arange(len(column)) % 2)[:, None],
    }[extreme]
    columns = [change(column, index) for index, column in enumerate(data.columns)]
    finite_step(name, Batch(columns, data.targets, data.ids))


@every
def test_rows_may_come_in_any_order_and_whole_batch_says_whether_a_batch_may_be_split(name: str, kind: str) -> None:
    data = batch(kind, name=name)
    shuffled = data.rows(torch.randperm(9, generator=torch.Generator().manual_seed(1)))
    objective = make(name).double()
    assert objective(data.columns, data.targets, data.ids).item() == pytest.approx(
        objective(shuffled.columns, shuffled.targets, shuffled.ids).item(), abs=1e-12
    )
    data, objective = batch(kind, name=name), make(name).double()
    parts = [data.rows(slice(0, 5)), data.rows(slice(5, 9))]
    whole = objective(data.columns, data.targets, data.ids).item()
    split = sum(len(part.columns[0]) / 9 * objective(part.columns, part.targets, part.ids).item() for part in parts)
    assert (abs(whole - split) > 1e-3) == objective.whole_batch


@every
@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_half_precision_embeddings_give_a_float32_loss_even_under_autocast(name: str, kind: str, half: torch.dtype) -> None:
    data, objective = batch(kind, dtype=half, name=name), make(name)
    columns = [column.float() for column in data.columns]
    targets = data.targets.float() if data.targets is not None and data.targets.is_floating_point() else data.targets
    expected = objective(columns, targets, data.ids)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = objective(data.columns, targets, data.ids)
        assert loss.dtype == torch.float32
        assert torch.equal(loss, expected)
        assert torch.equal(objective(columns, targets, data.ids), expected)


@pytest.mark.parametrize("name", [name for name in LOSSES if LOSSES[name].needs_targets])
def test_missing_targets_are_refused(name: str) -> None:
    with pytest.raises(StudioError, match="needs a teacher" if LOSSES[name].teacher else "needs a score or a label"):
        make(name)(batch("scored_pairs").columns)


@pytest.mark.parametrize("name", LOSSES)
def test_an_objective_describes_itself(name: str) -> None:
    objective = LOSSES[name]
    assert objective.name == name
    assert objective.title and objective.summary.endswith(".")
    assert getattr(objective, "source", ""), f"{objective.__name__} lacks a source: the paper that docs/training.md names"
    assert objective.kinds and set(objective.kinds) <= KINDS
    assert objective.__doc__ and objective.views in (1, 2)
    assert all(field.help.endswith(".") for field in fields_of(objective.Params))
    defaults = {field.name: field.default for field in fields_of(objective.Params)}
    assert parse_params(objective.Params, defaults) == objective.Params(), "the defaults are within their bounds"


def test_settings_are_checked_when_an_objective_is_built() -> None:
    objective = build_loss("triplet", {"margin": "0.3", "distance": "cosine"}, dim=DIM)
    assert objective.params == LOSSES["triplet"].Params(distance="cosine", margin=0.3)
    for values in ({"margin": -1}, {"distance": "hamming"}, {"marginal": 1}):
        with pytest.raises(StudioError):
            build_loss("triplet", values, dim=DIM)
    with pytest.raises(StudioError, match="no loss 'tripled'"):
        build_loss("tripled", {}, dim=DIM)
    with pytest.raises(StudioError, match="two different labels"):
        build_loss("softmax", {}, dim=DIM, labels=1)
    assert build_loss("softmax", {}, dim=DIM, labels=CLASSES).head.weight.shape == (CLASSES, 3 * DIM)  # type: ignore[union-attr]
