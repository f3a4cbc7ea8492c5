"""Figures of the trainer: its speed, the recipes, and what data of each shape gains."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from measure import Figure, Row, score, studio, trained

_OFTEN = ("--epochs", 1, "--set", "evaluations_per_epoch=4")


def speed(data: Path, _out: Path) -> Iterator[Row]:
    """Cosine regression on 1,000 pairs of the STS benchmark, two rounds by turns with sentence-transformers' trainer."""
    found = studio("bench", "train", "--data", data / "stsb/train.csv", "--limit", 1_000, "--repeats", 2)
    print(json.dumps(found), file=sys.stderr)
    yield (
        "train on 1,000 pairs of STSb, cosine, batch 16, float32",
        f"{found['ours']:.1f} pairs/s, {found['ratio']:.2f} × sentence-transformers ({found['peer']:.1f})",
    )


def seeds(data: Path, _out: Path) -> Iterator[Row]:
    """Three seeds of the same, in float32 and with bfloat16 autocast."""
    train, test = data / "stsb/train.csv", data / "stsb/test.csv"
    found = studio("bench", "train", "--data", train, "--test", test, "--repeats", 3, "--precision", "float32,bfloat16")
    print(json.dumps(found), file=sys.stderr)
    half, tests = found["variants"]["bfloat16"], found["test_spearman"]
    means = {side: f"STSb test {tests[side]['mean']:.4f}" for side in ("float32", "bfloat16", "peer")}
    peer = f"sentence-transformers in float32 ({found['peer']:.1f} pairs/s, {means['peer']})"
    yield "three seeds, float32", f"{found['ours']:.1f} pairs/s, {means['float32']}; {found['ratio']:.2f} × {peer}"
    yield "three seeds, bfloat16 autocast", f"{half['ours']:.1f} pairs/s, {means['bfloat16']}; {half['ratio']:.2f} × the same"


def cosine(data: Path, out: Path) -> Iterator[Row]:
    """One epoch of cosine regression by the command of the README."""
    recipe = ("--objective", "cosine", "--epochs", 1, "--batch-size", 16, "--lr", "2e-5", "--seed", 12, "--set", "precision=float32")
    yield from trained(data, out, "train one epoch, cosine", *recipe)


def lora(data: Path, out: Path) -> Iterator[Row]:
    """The same by LoRA, at a fitting rate."""
    recipe = ("--objective", "cosine", "--epochs", 1, "--batch-size", 16, "--lr", "5e-4", "--seed", 12, "--method", "lora")
    yield from trained(data, out, "train one epoch, cosine, LoRA", *recipe)


def defaults(data: Path, out: Path) -> Iterator[Row]:
    """No option but the file: what the advisor makes of the training set."""
    yield from trained(data, out, "train with no option", dev=False)


def small(data: Path, out: Path) -> Iterator[Row]:
    """The defaults on 300 pairs, three seeds."""
    lines = (data / "stsb/train.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    scores = []
    for seed in (1, 2, 3):
        rows = out.with_name(f"pairs-{seed}.csv")
        picked = np.random.default_rng(seed).choice(np.arange(1, len(lines)), 300, replace=False)
        rows.write_text(lines[0] + "".join(lines[place] for place in picked), encoding="utf-8")
        folder = out.with_name(f"small-{seed}")
        studio("train", rows, "--seed", seed, "--out", folder)
        scores.append(score(folder, data))
    yield "300 pairs, no option, three seeds", f"STSb test {np.mean(scores):.4f} ± {np.std(scores, ddof=1):.4f}"


def sick(data: Path, out: Path) -> Iterator[Row]:
    """SICK by its entailment labels alone, with the softmax objective; the best moment is picked on the STS benchmark's dev set."""
    found = studio("train", data / "sick/train.csv", "--dev", data / "stsb/dev.csv", "--objective", "softmax", *_OFTEN, "--out", out)
    yield "SICK, entailment labels, softmax", f"STSb test {score(out, data):.4f} (untuned {_untuned(data):.4f}), {_took(found)}"


def stages(data: Path, out: Path) -> Iterator[Row]:
    """Inference labels first, scored pairs then, in one run; beside it the first stage's data alone."""
    alone = out.with_name("inference")
    found = studio("train", data / "snli/train.csv", "--dev", data / "stsb/dev.csv", "--objective", "softmax", *_OFTEN, "--out", alone)
    yield "SNLI alone, softmax", f"STSb test {score(alone, data):.4f}, {_took(found)}"
    first = ("--first", data / "snli/train.csv", "--set", "first.objective=softmax")
    found = studio("train", data / "stsb/train.csv", "--dev", data / "stsb/dev.csv", *first, "--out", out)
    yield "SNLI (softmax), then STSb", f"STSb test {score(out, data):.4f} (untuned {_untuned(data):.4f}), {_took(found)}"


def mrpc(data: Path, out: Path) -> Iterator[Row]:
    """Paraphrases by their 0/1 labels, with CoSENT."""
    found = studio("train", data / "mrpc/train.csv", "--objective", "cosent", "--out", out)
    before, after = (
        studio("evaluate", model, "--data", data / "mrpc/test.csv", "--task", "pairs")["cosine"]["average_precision"]
        for model in ("all-MiniLM-L6-v2", out)
    )
    yield "MRPC, CoSENT", f"average precision on its test set {before:.4f} → {after:.4f}, {_took(found)}"


def chinese(data: Path, out: Path) -> Iterator[Row]:
    """Chinese pairs and an English model: the doctor warns, and says what the score becomes."""
    path = data / "stsb-zh/train.csv"
    warned = [finding["message"] for finding in studio("check", path)["findings"] if finding["severity"] == "warning"]
    found = studio("train", path, "--out", out)
    before, after = (
        studio("evaluate", model, "--data", data / "stsb-zh/dev.csv")["cosine"]["spearman"] for model in ("all-MiniLM-L6-v2", out)
    )
    yield "Chinese STSb, an English model", f"{before:.4f} → {after:.4f} on its dev set, {_took(found)}; the doctor: {'; '.join(warned)}"


def _untuned(data: Path) -> float:
    return score("all-MiniLM-L6-v2", data)


def _took(found: dict[str, Any]) -> str:
    return f"{found['steps']:,} steps in {found['seconds']:.0f} s"


FIGURES: tuple[Figure, ...] = (speed, seeds, cosine, lora, defaults, small, sick, stages, mrpc, chinese)
