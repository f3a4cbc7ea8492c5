"""A model's predictions against what people said: squared error, Pearson, Spearman."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .commands import sbert_studio
from .rows import Sets

# The two ways to a correlation, the command's and this file's, may differ by what sums in another order do.
_SAME = 1e-4
# Rows of triplets that rounding may decide otherwise: batches of another make-up differ in the last bits.
_TIES = 2


def judged(model: str, path: Path, sets: Sets) -> dict[str, float]:
    """``{mse, pearson, spearman, rows}`` of a model on a file: the correlations as ``evaluate`` gives them.

    Of triplets ``{accuracy, rows}``.

    The squared error is that of the prediction with score / top: a model of pairs predicts by what its head gives, vectors by
    their cosine as it is, clipped to 0..1.

    Raises:
        CommandError: ``evaluate`` fails.
        ValueError: the rows read here are not those that ``evaluate`` judged.
    """
    told = sbert_studio("evaluate", model, "--data", str(path), "--task", sets.task)
    if sets.task == "triplets":
        return _triplets(model, path, told)
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


def cross_validated(answer: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the mean Spearman correlation over the folds of a training, ``{spearman, sd}``, untuned and tuned.

    Args:
        answer: of ``train --folds``.

    Raises:
        ValueError: the training was not judged by Spearman's correlation in folds.
    """
    found: dict[str, dict[str, Any]] = {}
    for part, key in (("untuned", "before"), ("test", "after")):
        scores = answer[key]
        if scores.get("metric") != "cosine_spearman" or len(scores.get("each", ())) < 2:
            raise ValueError(f"the training gives no Spearman correlations of folds: {dict(scores)}")
        found[part] = {"spearman": scores["score"], "sd": scores["sd"], "rows": int(answer["accounts"]["data"]["used"])}
    return found


def _triplets(model: str, path: Path, told: Mapping[str, Any]) -> dict[str, float]:
    """Return ``{accuracy, rows}`` of a model on triplets, checked against the scores of each pair."""
    accuracy = float(told["accuracy"] if "accuracy" in told else told["pair"]["accuracy"])
    with path.open(encoding="utf-8", newline="") as file:
        anchors, positives, *negatives = (list(column) for column in zip(*list(csv.reader(file))[1:], strict=True))
    near = predicted(model, (anchors, positives))
    farther = np.all([near > predicted(model, (anchors, column)) for column in negatives], axis=0)
    if len(anchors) != told["rows"] or abs(float(farther.mean()) - accuracy) * len(anchors) > _TIES:
        raise ValueError(
            f"{path.name}: accuracy {farther.mean():.4f} of {len(anchors)} rows here, {accuracy:.4f} of {told['rows']} by evaluate"
        )
    return {"accuracy": accuracy, "rows": told["rows"]}


def predicted(model: str, texts: tuple[list[str], list[str]]) -> np.ndarray:
    """What a model gives each pair, (n,) float64: its score, or the cosine of its vectors."""
    from sbert_studio.evaluation.encoding import pair_similarities
    from sbert_studio.services import Studio

    return pair_similarities(Studio(allow_folders=True).catalog.load_either(model), *texts)


def described(model: str) -> dict[str, Any]:
    """What a model says of itself."""
    from sbert_studio.services import Studio

    return dict(Studio(allow_folders=True).catalog.load_either(model).describe())


def _rows(path: Path, sets: Sets) -> tuple[tuple[list[str], list[str]], np.ndarray]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    gold = np.array([float(row[sets.target]) / sets.top for row in rows])
    return ([row["sentence1"] for row in rows], [row["sentence2"] for row in rows]), gold
