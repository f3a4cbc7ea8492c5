"""Run as a script, alone, by ``torchrun`` or by ``accelerate launch``: trains without dropout and writes the losses of the main process."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import torch

from sbert_studio.training import trainer
from sbert_studio.training.events import Notice, Step
from sbert_studio.training.loop import throughput
from tests.training.tiny import Told, labelled_pairs, never, positive_pairs, scored_pairs, small_spec, tiny_encoder
from tests.training.tiny_cross import cross_spec, tiny_cross

DATA = {"cosine": scored_pairs, "cosine+cosent": scored_pairs, "softmax": labelled_pairs, "in_batch": positive_pairs}


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    throughput._SHOWN_EVERY = 0.0
    losses: dict[str, list[float]] = {}
    notices = set()
    for objective, data in DATA.items():
        told = Told()
        spec = small_spec(objective=objective, dropout=0.0, batch_size=10)  # 64 rows: a smaller batch at the end
        trainer.train(spec, data(64), told, never, encoder=tiny_encoder(), folder=folder / objective, dev=data(20, 5))
        losses[objective] = [event.loss for event in told.of(Step)]
        notices |= {event.message for event in told.of(Notice) if "processes" in event.message}
    told = Told()
    trainer.train(
        cross_spec(dropout=0.0, batch_size=10),
        scored_pairs(64),
        told,
        never,
        encoder=tiny_cross(),
        folder=folder / "cross",
        dev=scored_pairs(20, 5),
    )
    losses["cross"] = [event.loss for event in told.of(Step)]
    if losses["cosine"]:
        (folder / "losses.json").write_text(json.dumps({"losses": losses, "notices": sorted(notices)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
