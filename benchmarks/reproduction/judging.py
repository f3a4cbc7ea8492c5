"""A model's predictions against what people said: squared error, Pearson, Spearman."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from .commands import sbert_studio
from .rows import Sets

# The two ways to a correlation, the command's and this file's, may differ by what sums in another order do.
_SAME = 1e-4


def judged(model: str, path: Path, sets: Sets) -> dict[str, float]:
    """``{mse, pearson, spearman, rows}`` of a model on a file: the correlations as ``evaluate`` gives them.

    The squared error is that of the prediction with score / top: a model of pairs predicts by what its head gives, vectors by
    their cosine as it is, clipped to 0..1.

    Raises:
        CommandError: ``evaluate`` fails.
        ValueError: the rows read here are not those that ``evaluate`` judged.
    """
    told = sbert_studio("evaluate", model, "--data", str(path), "--task", "sts")
    scores = told.get("pair") or told["cosine"]
    texts, gold = _rows(path, sets)
    predictions = predicted(model, texts)
    with np.errstate(invalid="ignore"):
        here = float(np.corrcoef(predictions, gold)[0, 1])
    if len(gold) != told["rows"] or (np.isfinite(here) and abs(here - scores["pearson"]) > _SAME):
        raise ValueError(f"{path.name}: r = {here:.4f} of {len(gold)} rows here, {scores['pearson']:.4f} of {told['rows']} by evaluate")
    error = float(np.mean((np.clip(predictions, 0, 1) - gold) ** 2))
    if "mse" in scores:
        error = scores["mse"]
    return {"mse": error, "pearson": scores["pearson"], "spearman": scores["spearman"], "rows": told["rows"]}


def predicted(model: str, texts: tuple[list[str], list[str]]) -> np.ndarray:
    """What a model gives each pair, (n,) float64: its score, or the cosine of its vectors."""
    from sbert_studio.evaluation.similarity import alike
    from sbert_studio.studio import Studio

    return alike(Studio(allow_folders=True).catalog.load_either(model), *texts)


def described(model: str) -> dict[str, Any]:
    """What a model says of itself."""
    from sbert_studio.studio import Studio

    return dict(Studio(allow_folders=True).catalog.load_either(model).describe())


def _rows(path: Path, sets: Sets) -> tuple[tuple[list[str], list[str]], np.ndarray]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    gold = np.array([float(row[sets.target]) / sets.top for row in rows])
    return ([row["sentence1"] for row in rows], [row["sentence2"] for row in rows]), gold
