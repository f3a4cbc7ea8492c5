"""Figures of a cross-encoder, which reads both texts of a pair at once, as in the STS-Benchmark comparison."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from measure import Figure, Row, studio


def cross(data: Path, out: Path) -> Iterator[Row]:
    """The embedded model as a cross-encoder with each of the two heads, by the advisor's settings."""
    for head, words in (("linear", "a linear head"), ("mlp", "512 units, ReLU and a sigmoid")):
        folder = out.with_name(f"cross-{head}")
        chosen = ("--set", "architecture=cross", "--set", f"head={head}")
        found = studio("train", data / "stsb/train.csv", "--dev", data / "stsb/dev.csv", *chosen, "--out", folder)
        judged = studio("evaluate", folder, "--data", data / "stsb/test.csv")["pair"]
        measured = []
        for name, title in (("spearman", "Spearman"), ("pearson", "Pearson"), ("mse", "squared error")):
            low, high = judged["intervals"][name]
            measured.append(f"{title} {judged[name]:.4f} ({low:.4f}–{high:.4f})")
        took = f"{found['steps']} steps in {found['seconds']:.0f} s ({found['pairs_per_second']:.1f} pairs/s)"
        yield f"cross-encoder, {words}, squared error", f"STSb test {', '.join(measured)}, 95 % intervals, after {took}"


FIGURES: tuple[Figure, ...] = (cross,)
