"""Runs of 60 steps that are killed at random moments and resumed, against the same runs left alone: the weights, bit by bit.

    python benchmarks/kills.py [KILLS] [MODEL]

KILLS is 10. MODEL is `tiny`, a random BERT of two layers, or `bundled`, all-MiniLM-L6-v2; without it both are taken, in about three
minutes. Each kill is a SIGKILL, sent up to 30 ms after a step, a judgement or a checkpoint.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

from training import killed
from training.tiny import tiny_encoder

from sbert_studio.models.catalog import Catalog
from sbert_studio.models.sentence_encoder import SentenceEncoder
from sbert_studio.workspace import Workspace


def bundled() -> SentenceEncoder:
    """A fresh copy of the default model; loaded in each child, for this process must not compute."""
    return Catalog(Workspace(Path(tempfile.gettempdir()) / "sbert-studio-kills"), device="cpu").load_fresh("all-MiniLM-L6-v2")


MODELS = {"tiny": tiny_encoder, "bundled": bundled}


def main(arguments: list[str]) -> int:
    """Print a line for each run."""
    kills = int(arguments[0]) if arguments else 10
    for name in arguments[1:] or MODELS:
        # Cross-encoders are killed as tiny ones only.
        for run in killed.RUNS if name == "tiny" else [run for run in killed.RUNS if run not in killed.LOADS]:
            start = time.perf_counter()
            with tempfile.TemporaryDirectory() as folder:
                found = killed.main(Path(folder), run, kills, killed.LOADS.get(run, MODELS[name]))
            print(f"{name}, {found}; {time.perf_counter() - start:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
