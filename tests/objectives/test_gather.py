"""Two processes compute the loss and gradient of the global batch, though their shares differ in size."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import multiprocessing, nn

from sbert_studio.objectives.gather import process_count

from .batches import DIM, batch, make

CASES = [
    ("in_batch", "triplets"),
    ("cosent", "scored_pairs"),
    ("simcse", "sentences"),
    ("online_contrastive", "labelled_pairs"),
    ("supcon", "labelled_texts"),
    ("batch_hard", "labelled_texts"),
    ("supcon+prototypes", "labelled_texts"),
]
SHARES = [slice(0, 6), slice(6, 9)]


def _encoder() -> nn.Module:
    torch.manual_seed(5)
    return nn.Linear(DIM, DIM).double()


def _step(name: str, kind: str, share: slice) -> tuple[float, nn.Module]:
    data, model = batch(kind), _encoder()
    data.ids[0][7] = data.ids[0][1]  # a false negative across the two processes
    part = data.rows(share)
    loss = make(name).double()([model(column) for column in part.columns], part.targets, part.ids)
    loss.backward()
    return loss.item(), model


def _work(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    for name, kind in CASES:
        loss, model = _step(name, kind, SHARES[rank])
        for parameter in model.parameters():  # as DDP does
            dist.all_reduce(parameter.grad)
            parameter.grad /= 2
        alone = make(name).double().eval()
        part = batch(kind).rows(SHARES[rank])
        with torch.no_grad():
            own = alone(part.columns, part.targets, part.ids).item()
        result = {"loss": loss, "own": own, "gradients": [parameter.grad.tolist() for parameter in model.parameters()]}
        torch.save(result, Path(folder) / f"{name}-{rank}.pt")
    dist.destroy_process_group()


def test_loss_and_averaged_gradient_are_those_of_one_process(tmp_path: Path) -> None:
    assert process_count() == 1
    multiprocessing.spawn(_work, args=(str(tmp_path),), nprocs=2)  # type: ignore[no-untyped-call]
    for name, kind in CASES:
        loss, model = _step(name, kind, slice(0, 9))
        for rank in (0, 1):
            result = torch.load(tmp_path / f"{name}-{rank}.pt", weights_only=True)
            assert result["loss"] == pytest.approx(loss, abs=1e-12)
            for parameter, gradient in zip(model.parameters(), result["gradients"], strict=True):
                assert torch.allclose(parameter.grad, torch.tensor(gradient, dtype=torch.float64), atol=1e-12)  # type: ignore[arg-type]
            part = batch(kind).rows(SHARES[rank])
            assert result["own"] == pytest.approx(make(name).double()(part.columns, part.targets, part.ids).item()), "eval stays local"
