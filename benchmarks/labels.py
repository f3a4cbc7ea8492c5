"""Check the learning curve and the list of suspicious labels on public data.

    python benchmarks/labels.py DATA [curve flips] [--repetitions 100] [--rows 400 1000] [--seed 12]

curve   repeatedly draws ROWS examples, predicts the gain of more of them by the learning curve, as a cross-validated training does (one
        fold, trained on a quarter, half and all of its rows), and counts how often the 95 % interval covers the true gain: the mean, over
        draws from the rest of the data, of the difference in score on thousands of other rows
flips   gives 5 % of the rows a wrong label, another class or the reversed score, and prints the share of flipped rows among the most
        suspicious ones, as many as were flipped, and among those counted as worth a look. A score near the middle is hardly wrong when
        reversed: scores are flipped where that changes them by at least 2 of 5 points, and, in another row of the table, anywhere

DATA is a folder of public sets as CSV: {stsb,banking77}/train.csv. Instead of fine-tuned models, which would take days, both use ridge
regression on the vectors of the default model: cosine, products and differences for pairs. Takes a few minutes.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sbert_studio.data.examples import Examples
from sbert_studio.evaluation.bootstrap import bootstrap_mean
from sbert_studio.evaluation.label_errors import fit_ridge, fold_places, frozen_features, judge, target_matrix
from sbert_studio.evaluation.learning_curve import LearningCurve, additional_rows, extrapolate, nested_parts
from sbert_studio.evaluation.tasks.sts import bootstrap_spearman, spearman
from sbert_studio.models.similarity import unit
from sbert_studio.services import Studio
from sbert_studio.training.members import default_fold_count

FLIPPED = 0.05
COVERAGE, PRECISION = 0.9, 0.6
_DRAWS = 40  # of the training rows, for the true gain
_LEAST_CHANGE = 0.4  # of a flipped score, of the scale


@dataclass(frozen=True, eq=False)
class Dataset:
    """Examples with the features of the frozen model; ``examples.lines`` are their places in ``features``."""

    name: str
    examples: Examples
    features: np.ndarray

    def predict(self, train: Examples, held: Examples) -> np.ndarray:
        return fit_ridge(self.features[train.lines], target_matrix(train))(self.features[held.lines])


def load(studio: Studio, path: Path, name: str) -> Dataset:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    *columns, target = rows[0]
    texts = tuple(tuple(row[column] for row in rows) for column in columns)
    lines, values = np.arange(len(rows)), [row[target] for row in rows]
    if len(columns) == 2:
        examples = Examples("scored_pairs", texts, np.array(values, np.float32) / 5, lines)
    else:
        labels, places = np.unique(values, return_inverse=True)
        examples = Examples("labelled_texts", texts, places.astype(np.int64), lines, tuple(labels.tolist()))
    encoder = studio.catalog.load(studio.settings.default_model)
    return Dataset(name, examples, frozen_features([unit(encoder.encode(column)) for column in texts]))


def score(predicted: np.ndarray, held: Examples) -> float:
    """Return Spearman's correlation, or the accuracy of classes."""
    assert held.targets is not None
    return (
        spearman(predicted[:, 0], held.targets) if held.kind == "scored_pairs" else float((predicted.argmax(axis=1) == held.targets).mean())
    )


def resample(predicted: np.ndarray, held: Examples) -> np.ndarray:
    """Return the bootstrap scores."""
    assert held.targets is not None
    if held.kind == "scored_pairs":
        return bootstrap_spearman(predicted[:, 0], held.targets)
    return bootstrap_mean((predicted.argmax(axis=1) == held.targets).astype(np.float64))


def curve(data: Dataset, rows: int, repetitions: int, seed: int) -> Iterator[str]:
    """Yield the row of the table for one number of examples."""
    order = np.random.default_rng(seed).permutation(len(data.examples))
    held, pool = data.examples.take(order[: len(order) // 3]), order[len(order) // 3 :]
    more = additional_rows(rows)
    true = float(np.mean([_true_gain(data, held, pool, rows, more, seed + number) for number in range(_DRAWS)]))
    found = [_predict_gain(data, pool, rows, 10_000 + seed + number) for number in range(repetitions)]
    gains, lows, highs = (np.array(one) for one in zip(*((one.gain, *one.interval) for one in found), strict=True))
    covered = float(((lows <= true) & (true <= highs)).mean())
    yield (
        f"| {data.name} | {rows:,} + {more:,} | {true:+.4f} | {np.median(gains):+.4f} | {np.median(lows):+.4f} to {np.median(highs):+.4f} "
        f"| {covered:.0%} | {(true < lows).mean():.0%}, {(true > highs).mean():.0%} |"
    )
    if covered < COVERAGE:
        yield f"FAILED: the interval covers the true gain in {covered:.0%} of the repetitions"


def _true_gain(data: Dataset, held: Examples, pool: np.ndarray, rows: int, more: int, seed: int) -> float:
    drawn = np.random.default_rng(seed).permutation(pool)[: rows + more]
    before, after = (score(data.predict(data.examples.take(drawn[:number]), held), held) for number in (rows, rows + more))
    return after - before


def _predict_gain(data: Dataset, pool: np.ndarray, rows: int, seed: int) -> LearningCurve:
    examples = data.examples.take(np.random.default_rng(seed).permutation(pool)[:rows])
    train, held = (examples.take(places) for places in fold_places(examples, default_fold_count(rows), seed)[0])
    parts = [*nested_parts(train, seed=seed), train]
    predicted = [data.predict(part, held) for part in parts]
    scores, drawn = [score(one, held) for one in predicted], [resample(one, held) for one in predicted]
    found = extrapolate([len(part) for part in parts], scores, drawn, total=rows)
    assert found is not None
    return found


def flips(data: Dataset, seed: int, *, anywhere: bool = False, repetitions: int = 5) -> Iterator[str]:
    """Yield the row of the table for one dataset."""
    found = np.array([_find_flips(data, seed + number, anywhere=anywhere) for number in range(repetitions)])
    precision, sd = found[:, 0].mean(), found[:, 0].std(ddof=1)
    count, listed, hits = found[:, 1:].mean(axis=0)
    yield (
        f"| {data.name}{' (any score)' if anywhere else ''} | {len(data.examples):,} | {count:,.0f} | {precision:.3f} ± {sd:.3f} "
        f"| {listed:,.0f} | {hits / max(listed, 1):.3f} | {hits / count:.3f} |"
    )
    if precision < PRECISION and not anywhere:
        yield f"FAILED: the precision at the number of flipped rows is {precision:.3f}"


def _find_flips(data: Dataset, seed: int, *, anywhere: bool) -> tuple[float, int, int, int]:
    random, clean = np.random.default_rng(seed), data.examples
    assert clean.targets is not None
    targets, count = clean.targets.copy(), round(FLIPPED * len(clean))
    if clean.kind == "scored_pairs":
        changes = np.abs(1 - 2 * targets)
        flipped = random.permutation(np.flatnonzero(changes >= (0 if anywhere else _LEAST_CHANGE - 1e-6)))[:count]
        targets[flipped] = 1 - targets[flipped]
    else:
        flipped = random.permutation(len(clean))[:count]
        targets[flipped] = (targets[flipped] + random.integers(1, len(clean.labels), count)) % len(clean.labels)
    examples = replace(clean, targets=targets)
    predicted = np.zeros_like(target_matrix(examples))
    for train, held in fold_places(examples):
        predicted[held] = data.predict(examples.take(train), examples.take(held))
    doubts = judge(examples, predicted)
    hits = np.isin(doubts.order, flipped)
    return float(hits[:count].mean()), count, doubts.suspicious, int(hits[: doubts.suspicious].sum())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("parts", nargs="*", default=["curve", "flips"])
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--rows", type=int, nargs="*", default=[400, 1000])
    parser.add_argument("--seed", type=int, default=12)
    options = parser.parse_args()
    with Studio() as studio:
        sets = [load(studio, options.data / name / "train.csv", title) for name, title in (("stsb", "STSb"), ("banking77", "BANKING77"))]
    failed = False
    if "curve" in options.parts:
        lines = (line for data in sets for rows in options.rows for line in curve(data, rows, options.repetitions, options.seed))
        failed |= show("| data | rows | true gain | predicted (median) | interval (median) | covered | true gain below, above |", lines)
    if "flips" in options.parts:
        tables = (*(flips(data, options.seed) for data in sets), flips(sets[0], options.seed, anywhere=True))
        lines = (line for table in tables for line in table)
        failed |= show("| data | rows | flipped | precision at the number flipped | worth a look | precision | recall |", lines)
    return int(failed)


def show(header: str, rows: Iterator[str]) -> bool:
    """Print a table; return True if a line reports a failure."""
    print(header, "|".join(["", *(["---"] * (header.count("|") - 1)), ""]), sep="\n")
    failed = False
    for line in rows:
        failed |= line.startswith("FAILED")
        print(line, flush=True, file=sys.stderr if line.startswith("FAILED") else sys.stdout)
    return failed


if __name__ == "__main__":
    sys.exit(main())
