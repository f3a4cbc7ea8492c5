"""Figures of a language model as a siamese encoder, as in the STS-Benchmark comparison."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from measure import Figure, Row, score, studio


def smollm2(data: Path, out: Path) -> Iterator[Row]:
    """A language model of 135 million weights, mean-pooled, then tuned by LoRA on 1,920 pairs at even distances, in about ten minutes."""
    yield from _language_model(data, out, "SmolLM2-135M, LoRA r 16", epochs=2)


def smollm2_projected(data: Path, out: Path) -> Iterator[Row]:
    """The same with Linear → 768 and GELU behind the pooling, by LoRA and whole, on 480 pairs."""
    head = ("--set", "projection=768")
    for title, method, rate in (("LoRA r 16", "lora", "5e-4"), ("whole", "full", "2e-5")):
        name = f"SmolLM2-135M, projection 768, {title}"
        yield from _language_model(data, out.with_name(method), name, *head, method=method, rate=rate, rows=480, epochs=1)


def _language_model(
    data: Path, out: Path, title: str, *options: object, epochs: float, rows: int = 1_920, method: str = "lora", rate: str = "5e-4"
) -> Iterator[Row]:
    model, pairs = out.with_name("smollm2-135m"), out.with_name(f"{rows}.csv")
    if not model.is_dir():
        subprocess.run([sys.executable, Path(__file__).parents[1] / "tests/smollm2.py", model], check=True)
    with (data / "stsb/train.csv").open(encoding="utf-8", newline="") as source:
        head, *lines = csv.reader(source)
    with pairs.open("w", encoding="utf-8", newline="") as target:
        csv.writer(target).writerows([head, *(lines[place] for place in np.linspace(0, len(lines) - 1, rows).astype(int))])
    untuned = score(model, data)
    recipe = ("--objective", "cosent", "--epochs", epochs, "--batch-size", 16, "--lr", rate, "--seed", 12, "--set", "dev_fraction=0")
    found = studio("train", pairs, "--model", model, "--method", method, *recipe, *options, "--out", out)
    yield (
        f"{title}, {rows:,} pairs of STSb",
        f"STSb test {untuned:.4f} → {score(out, data):.4f} after {found['steps']} steps in {found['seconds']:.0f} s "
        f"({found['pairs_per_second']:.1f} pairs/s, {found['peak_bytes'] / 1e9:.1f} GB at most)",
    )


FIGURES: tuple[Figure, ...] = (smollm2, smollm2_projected)
