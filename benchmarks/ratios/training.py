"""Tuning on scored pairs, beside sentence-transformers' trainer."""

from __future__ import annotations

from collections.abc import Iterator

import training_memory

from .base import Ratio, Setting, studio
from .encoding import PEER

_GOALS = {("public", "float32"): 2.7, ("samples", "float32"): 2.2}


def train(setting: Setting) -> Iterator[Ratio]:
    """STSb, or the 400 scored pairs that come with the studio; a batch of 16, one epoch; both sides write the model."""
    data = () if setting.data is None else ("--data", setting.data / "stsb" / "train.csv", "--test", setting.data / "stsb" / "dev.csv")
    precisions = [name for name in ("float32", "bfloat16") if name in setting.rates]
    sides = ("--precision", ",".join(precisions), "--peer-precision", setting.peer, "--batch-size", setting.batch_size)
    found = studio("bench", "train", *data, *sides, "--repeats", setting.rounds)
    what = f"tune on {found['pairs']:,} pairs of {'the samples' if setting.data is None else 'STSb'}, a batch of {setting.batch_size}"
    scores = found.get("test_spearman", {})
    for name in precisions:
        judged = scores and f"STSb dev {scores[name]['mean']:.4f}, the peer's {scores['peer']['mean']:.4f}"
        passes = 3 * found["operations"] * found["tokens"] / found["pairs"]  # forward, and twice backward
        floor = f"{passes / 1e9:.2f} GFLOP a pair: {setting.rates[name] * 1e9 / passes:,.0f} pairs/s at {setting.rates[name]:,.0f} GFLOP/s"
        rounds = found["rounds"]
        goal = _GOALS.get((setting.place, name))
        yield Ratio(
            f"train-{name}" + ("" if setting.batch_size == 16 else f"-{setting.batch_size}"),
            f"{what}, {name}",
            PEER,
            "pairs/s",
            rounds[name],
            rounds["peer"],
            judged or "",
            floor,
            goal,
        )


def memory(setting: Setting) -> Iterator[Ratio]:
    """The most memory of a process that tunes, everything in it; a process for each side and round."""
    precisions = [name for name in ("float32", "bfloat16") if name in setting.rates]
    found = training_memory.peaks(setting.data, setting.rounds, [*precisions, "peer"])
    what = f"the most memory while tuning on {'the samples' if setting.data is None else '1,000 pairs of STSb'}, a batch of 16"
    for name in precisions:
        yield Ratio(f"memory-{name}", f"{what}, {name}", PEER, "MiB", found[name], found["peer"], goal=1.0)
