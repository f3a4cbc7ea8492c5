"""Run by a launcher in each of two processes: trains without dropout, computes gathered losses, and trains by the command line."""

from __future__ import annotations

import json
import os
import runpy
import sys
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import torch
import torch.distributed as dist
from losses.batches import DIM, batch, make
from torch import nn

from sbert_studio.training import evaluator, events, trainer
from sbert_studio.training.events import Notice, Step
from training.tiny import Told, cross_spec, labelled_pairs, never, positive_pairs, scored_pairs, small_spec, tiny_cross, tiny_encoder

DATA = {"cosine": scored_pairs, "cosine+cosent": scored_pairs, "softmax": labelled_pairs, "in_batch": positive_pairs}
ROWS, BATCH_SIZE, EPOCHS = 64, 10, 1  # a smaller batch at the end of each epoch
GATHERED = [
    ("in_batch", "triplets"),
    ("cosent", "scored_pairs"),
    ("simcse", "sentences"),
    ("online_contrastive", "labelled_pairs"),
    ("supcon", "labelled_texts"),
    ("batch_hard", "labelled_texts"),
    ("supcon+prototypes", "labelled_texts"),
]
SHARES = [slice(0, 6), slice(6, 9)]


def train_each(folder: Path) -> dict[str, Any]:
    """Train with each objective and return the losses of all steps, and the notices about processes. Empty but in the main process."""
    losses: dict[str, list[float]] = {}
    notices: set[str] = set()
    everyday, evaluator.PAIRS = evaluator.PAIRS, folder / "none.csv"  # what it costs elsewhere is no matter here
    usual: dict[str, Any] = {"dropout": 0.0, "batch_size": BATCH_SIZE, "epochs": EPOCHS}
    for name, data in (DATA | {"cross": scored_pairs}).items():
        spec, encoder = (
            (cross_spec(**usual), tiny_cross()) if name == "cross" else (small_spec(loss=name, **usual), tiny_encoder())
        )  # fmt: skip
        told = Told()
        trainer.train(spec, data(ROWS), told, never, encoder=encoder, folder=folder / name, dev=data(20, 5))
        losses[name] = [event.loss for event in told.of(Step)]
        notices |= {event.message for event in told.of(Notice) if "processes" in event.message}
    evaluator.PAIRS = everyday
    return {"losses": losses, "notices": sorted(notices)}


def gathered_step(name: str, kind: str, share: slice) -> tuple[float, list[torch.Tensor]]:
    """Return the loss of a share of the batch, gathered where several processes run, and the gradients of a linear encoder."""
    torch.manual_seed(5)
    model = nn.Linear(DIM, DIM).double()
    data = batch(kind)
    data.ids[0][7] = data.ids[0][1]  # a false negative across the two processes
    part = data.rows(share)
    loss = make(name).double()([model(column) for column in part.columns], part.targets, part.ids)
    loss.backward()
    return loss.item(), [parameter.grad for parameter in model.parameters()]  # type: ignore[misc]


def own_loss(name: str, kind: str, share: slice) -> float:
    """Return the loss of a share alone, as an objective in evaluation mode computes it."""
    part = batch(kind).rows(share)
    with torch.no_grad():
        return make(name).double().eval()(part.columns, part.targets, part.ids).item()


def gather_each(folder: Path) -> None:
    """Write the loss and the averaged gradient of every gathered objective."""
    rank = dist.get_rank()
    for name, kind in GATHERED:
        loss, gradients = gathered_step(name, kind, SHARES[rank])
        for gradient in gradients:  # as DDP does
            dist.all_reduce(gradient)
            gradient.div_(2)
        found = {"loss": loss, "own": own_loss(name, kind, SHARES[rank]), "gradients": gradients}
        torch.save(found, folder / f"{name}-{rank}.pt")


def command_line(folder: Path) -> None:
    """Run ``python -m sbert_studio`` with the arguments in ``command.json``, as torchrun would start it, and keep what it prints."""
    from accelerate.state import AcceleratorState

    AcceleratorState._reset_state(reset_partial_state=True)
    for name in [name for name in os.environ if name.startswith("ACCELERATE_")]:  # torchrun sets none
        del os.environ[name]
    os.environ["SBERT_STUDIO_HOME"] = str(folder / "home")
    sys.argv = ["sbert-studio", *json.loads((folder / "command.json").read_text(encoding="utf-8"))]
    with (folder / f"printed-{dist.get_rank()}.txt").open("w", encoding="utf-8") as target, redirect_stdout(target), suppress(SystemExit):
        runpy.run_module("sbert_studio", run_name="__main__", alter_sys=True)


def main(folder: Path) -> None:
    """Do all of it in this process, one of two."""
    torch.set_num_threads(1)
    events._SHOWN_EVERY = 0.0
    found = train_each(folder)
    gather_each(folder)
    if dist.get_rank() == 0:
        (folder / "losses.json").write_text(json.dumps(found), encoding="utf-8")
    command_line(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
