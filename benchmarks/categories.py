"""Figures of texts with a category: by defaults, untuned beside tuned, on texts that nothing has seen."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from measure import Figure, Row, studio

_LEARNED, _JUDGED, _SEED = 1_500, 1_000, 12


def _some(path: Path, rows: int) -> list[dict[str, str]]:
    """So many rows of a file, each text once, drawn with the one seed."""
    with path.open(encoding="utf-8", newline="") as source:
        known = {row["text"].strip().lower(): row for row in csv.DictReader(source)}
    found = list(known.values())
    return [found[place] for place in np.random.default_rng(_SEED).permutation(len(found))[:rows]]


def _write(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as target:
        writer = csv.DictWriter(target, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def _right(model: object, learned: Path, judged: Path) -> tuple[float, float]:
    """Nearest-neighbour accuracy of the judged texts beside the learned ones, and beside each other, each by exact search."""
    vectors, classes = [], []
    for path in (learned, judged):
        target = path.with_suffix(".npy")
        studio("encode", path, "--column", "text", "--model", model, "--out", target)
        found = np.load(target, allow_pickle=False)
        vectors.append(found / np.linalg.norm(found, axis=1, keepdims=True))
        with path.open(encoding="utf-8", newline="") as source:
            classes.append(np.array([row["category"] for row in csv.DictReader(source)]))
    beside = classes[0][(vectors[1] @ vectors[0].T).argmax(axis=1)] == classes[1]
    cosines = vectors[1] @ vectors[1].T
    np.fill_diagonal(cosines, -np.inf)
    return float(beside.mean()), float((classes[1][cosines.argmax(axis=1)] == classes[1]).mean())


def categories(data: Path, out: Path) -> Iterator[Row]:
    """1,500 questions of BANKING77 by no option but the file, judged on 1,000 of its test set."""
    learned = _write(out.with_suffix(".learned.csv"), _some(data / "banking77/train.csv", _LEARNED))
    judged = _write(out.with_suffix(".judged.csv"), _some(data / "banking77/test.csv", _JUDGED))
    run = studio("train", learned, "--kind", "labelled_texts", "--out", out)
    (before, alone), (after, together) = (_right(model, learned, judged) for model in ("all-MiniLM-L6-v2", out))
    yield (
        f"{_LEARNED:,} questions of 77 categories, no option",
        f"of 100 new ones, {100 * before:.1f} → {100 * after:.1f} have a learned question of their own category nearest, and "
        f"{100 * alone:.1f} → {100 * together:.1f} one among the new ones; {run['seconds']:.0f} s",
    )


FIGURES: tuple[Figure, ...] = (categories,)
