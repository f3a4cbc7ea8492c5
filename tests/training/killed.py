"""Run as a script: trains, is killed with SIGKILL at random moments, goes on, and compares the end with that of a run left alone.

Each attempt is a forked child, so that the libraries are imported once; this process itself never computes, and a child begins clean.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import accelerate  # noqa: F401  imported before the fork, as the next two
import peft  # noqa: F401
import torch

sys.path.insert(0, str(Path(__file__).parents[2]))

from sbert_studio.encoders.storage.reading import load_folder
from sbert_studio.encoders.trainable import Trainable
from sbert_studio.training import trainer
from sbert_studio.training.loop import throughput
from sbert_studio.training.trials import trials
from tests.training.tiny import labelled_pairs, never, positive_pairs, scored_pairs, small_spec, tiny_encoder, tiny_words
from tests.training.tiny_cross import cross_spec, tiny_cross
from tests.training.tiny_poly import poly_spec, tiny_poly

TABLE = {"learn_words": True, "learning_rate": 0.01}
GRU = {"recurrent": "gru", "hidden": 12, "learning_rate": 0.01}
STAGE = {**GRU, "epochs": 3, "checkpoint_every": 4}
RUNS: dict[str, Any] = {
    "full": lambda: (small_spec(epochs=6, checkpoint_every=7), scored_pairs(80), scored_pairs(20, 5)),
    # Nothing held out: the last weights are compared, not the best.
    "lora": lambda: (small_spec(epochs=6, method="lora", learning_rate=1e-2, checkpoint_every=5, dev_fraction=0), scored_pairs(80), None),
    "softmax": lambda: (small_spec(epochs=6, objective="softmax", checkpoint_every=3, dev_fraction=0), labelled_pairs(80), None),
    "soup": lambda: (small_spec(epochs=2, soup=3, checkpoint_every=4), scored_pairs(80), scored_pairs(20, 5)),
    "cross": lambda: (cross_spec(head="mlp", epochs=6, checkpoint_every=7), scored_pairs(80), scored_pairs(20, 5)),
    "cross lora": lambda: (cross_spec(epochs=6, method="lora", checkpoint_every=5, dev_fraction=0), scored_pairs(80), None),
    "poly": lambda: (poly_spec(epochs=6, checkpoint_every=7, micro_batch=3), positive_pairs(80), positive_pairs(20, 5)),
    "gru": lambda: (small_spec(**GRU, epochs=6, checkpoint_every=7), scored_pairs(80), scored_pairs(20, 5)),
    # A table that GloVe might have left, which learns with the rest, in two members that are joined.
    "words soup": lambda: (
        small_spec(**TABLE, epochs=3, soup=2, checkpoint_every=4),
        scored_pairs(80),
        scored_pairs(20, 5),
    ),
}
COURSES: dict[str, Any] = {
    "folds": lambda: (small_spec(epochs=2, checkpoint_every=2), scored_pairs(40), None, None),
    "two stages": lambda: (
        small_spec(**STAGE, first=small_spec(**STAGE, objective="softmax").to_json()),
        scored_pairs(60),
        scored_pairs(20, 5),
        labelled_pairs(60, 30),
    ),
}
LOADS: dict[str, Callable[[], Trainable]] = {
    "cross": lambda: tiny_cross(head="mlp"),
    "cross lora": tiny_cross,
    "poly": tiny_poly,
    "gru": tiny_words,
    "words soup": tiny_words,
    "two stages": tiny_words,
}


def attempt(name: str, folder: Path, kill_after: int | None, load: Callable[[], Trainable]) -> bool:
    """Train in a child. It is killed a random moment after ``kill_after`` events, if it lives so long; whether it reached its end."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            torch.set_num_threads(1)
            throughput._SHOWN_EVERY = 0.0
            spec, examples, dev, *first = (RUNS | COURSES)[name]()
            given: dict[str, Any] = {"folder": folder, "dev": dev, "resume": True}
            if name in COURSES:
                given |= {"first": first[0], "load": lambda _spec, _examples, source: load() if source is None else load_folder(source)}
                trials.run_trials(spec, examples, lambda _: os.write(writer, b"."), never, **given)
            else:
                trainer.train(spec, examples, lambda _: os.write(writer, b"."), never, encoder=load(), **given)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writer)
    heard = 0
    while os.read(reader, 1):
        heard += 1
        if heard == kill_after:
            time.sleep(random.random() * 0.03)
            os.kill(child, signal.SIGKILL)
    os.close(reader)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return False
    assert os.WEXITSTATUS(status) == 0, "the run failed"
    return True


def last_tensors(folder: Path) -> dict[str, bytes]:
    return {
        path.name if "step-" not in str(path) else f"{path.parent.name}/{path.name}": path.read_bytes()
        for path in sorted(folder.rglob("*.safetensors"))
    }


def main(folder: Path, name: str, kills: int, load: Callable[[], Trainable] = tiny_encoder) -> str:
    """Compare a run left alone with one killed ``kills`` times, in ``folder``; what was found, in a sentence."""
    assert attempt(name, folder / "whole", None, load)
    # The more kills, the earlier each: the run shall not reach its end before the last of them.
    killed, latest = 0, max(6, 88 // kills)
    while killed < kills and not attempt(name, folder / "parts", random.randint(2, latest), load):
        killed += 1
    assert attempt(name, folder / "parts", None, load)
    whole, parts = last_tensors(folder / "whole"), last_tensors(folder / "parts")
    assert whole.keys() == parts.keys(), (whole.keys(), parts.keys())
    differing = [path for path, content in whole.items() if content != parts[path]]
    found = f"{name}: killed {killed} times, {len(whole)} files of weights, differing: {differing or 'none'}"
    assert not differing, found
    assert killed
    return found


if __name__ == "__main__":
    for run in sys.argv[3:]:
        print(main(Path(sys.argv[1]) / run, run, int(sys.argv[2]), LOADS.get(run, tiny_encoder)))
