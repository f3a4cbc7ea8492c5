"""Simulate how often the interval of a gain lies entirely above the true gain when the model was chosen on the evaluation rows.

    python benchmarks/choice_interval.py [--runs 300] [--rows 200] [--evaluations 10] [--seed 12]
    python benchmarks/choice_interval.py --folds DATA [--model NAME] [--rows 150] [--seeds 3] [--only stsb ...]

Without --folds, simulates trainings: gold scores of ROWS pairs, the similarities of an untuned model and of each evaluation (gold scores
with an error), and blends of the best evaluation with the untuned model. The code that evaluates a training scores and resamples all of
them and keeps the best: an evaluation, a blend, or the untuned model, for which no gain is claimed. The true gain is known, since
Spearman's correlation of two normal variables with correlation r is 6/π · arcsin(r/2). Prints a Markdown table: the share of all trainings
whose 95 % interval lies entirely above or below the true gain, for the kept model alone (paired bootstrap) and with the choice inside the
resampling. Fails if more than 4 % of the latter lie above. Takes a quarter of an hour on one core.

With --folds, trains on ROWS rows of real sets, draws them anew for each seed, and chooses the model by the usual folds, by two folds and on
one split, as a slow machine does (`services/planning.py`). Prints the score of each kept model on held-out rows that no training has seen,
and the difference from the usual folds with its 95 % interval (paired bootstrap over the rows, mean over the seeds). The default model is a
static one, distilled from the words of the rows: what is compared is a choice among models, and its trainings take a second each. DATA is a
folder of public sets as CSV: {stsb,sick,mrpc,trec,banking77}/train.csv. The held-out rows are stsb/dev.csv and sick/trial.csv, and for the
others a part of the file.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sbert_studio.data.loading.table import Table, table_from_columns
from sbert_studio.data.schema.roles import SchemaOverrides
from sbert_studio.evaluation.bootstrap import paired_gain, percentile_interval
from sbert_studio.evaluation.evaluate import main_score
from sbert_studio.evaluation.tasks.sts import evaluate_sts_similarities
from sbert_studio.services import Studio
from sbert_studio.services.training_plan import TrainRequest
from sbert_studio.training.blend import MARKS, best_mark
from sbert_studio.training.crossval import FoldScores, nested_evaluation, pool_folds
from sbert_studio.training.evaluator import Candidates, Evaluator

ERROR = 0.8  # standard deviation of the untuned model's error, in those of the gold scores
MAX_ABOVE = 0.04


@dataclass(frozen=True)
class Design:
    """The dependence between the errors of a training's models.

    Attributes:
        common: share of the error's variance common to all models, the untuned one included.
        tuned: share of the rest common to the evaluations.
        spread: standard deviation of the logarithm of the evaluations' errors; 0: no evaluation gains anything.
        blends: whether blends are evaluated.
        folds: number of folds; 1: one set of held-out rows.
    """

    title: str
    common: float = 0.0
    tuned: float = 0.0
    spread: float = 0.0
    blends: bool = False
    folds: int = 1


DESIGNS = (
    Design("null, evaluations independent"),
    Design("null, evaluations share half of their error with each other and the untuned model", common=0.5, tuned=0.5),
    Design("null, evaluations nearly identical", common=0.5, tuned=0.9),
    Design("evaluations independent, and blends, which gain", blends=True),
    Design("evaluations of different quality, and blends", common=0.7, tuned=0.5, spread=0.1, blends=True),
    Design("null, in four folds, independent", folds=4),
    Design("null, in four folds, half of the error shared", common=0.5, tuned=0.5, folds=4),
)


@dataclass(frozen=True)
class Models:
    """Similarities of the untuned model, (rows,), and of the evaluations, (evaluations, rows), with the gold scores and error sizes."""

    gold: np.ndarray
    untuned: np.ndarray
    tuned: np.ndarray
    errors: np.ndarray


@dataclass(frozen=True)
class Intervals:
    """The gain that a simulated training claims, and the true one; both intervals are [0, 0] where the untuned model is kept."""

    true: float
    plain: Sequence[float]
    allowed: Sequence[float]


def draw(design: Design, errors: np.ndarray, rows: int, rng: np.random.Generator) -> Models:
    """Draw the rows of one set."""
    gold, common, tuned = rng.normal(size=(3, rows))
    a, b = np.sqrt(design.common), np.sqrt(1 - design.common)
    untuned = gold + ERROR * (a * common + b * rng.normal(size=rows))
    own = np.sqrt(design.tuned) * tuned + np.sqrt(1 - design.tuned) * rng.normal(size=(len(errors), rows))
    return Models(gold, untuned, gold + errors[:, None] * (a * common + b * own), errors)


def evaluate_similarities(found: np.ndarray, gold: np.ndarray) -> tuple[dict[str, Any], np.ndarray]:
    """Score and resample one model's similarities as a training does."""
    report = evaluate_sts_similarities({"cosine": found}, gold)
    assert report.resampled is not None
    metric, score = main_score(report)
    return {"metric": metric, "task": "sts", "rows": report.rows, "score": score}, report.resampled


def true_score(error: float) -> float:
    """Return Spearman's correlation of the gold scores and these with a normal error of this standard deviation."""
    return float(6 / np.pi * np.arcsin(0.5 / np.sqrt(1 + error**2)))


def blend_error(design: Design, error: float, strength: float) -> float:
    """Return the standard deviation of the error of a blend of the untuned model's similarities and those with this error."""
    one, other = (1 - strength) * ERROR, strength * error
    return float(np.sqrt(one**2 + other**2 + 2 * one * other * design.common))


def simulate(design: Design, evaluations: int, rows: int, rng: np.random.Generator) -> Intervals:
    """Simulate a training evaluated on one set of held-out rows."""
    models = draw(design, ERROR * np.exp(design.spread * rng.normal(size=evaluations)), rows, rng)
    before, untuned = evaluate_similarities(models.untuned, models.gold)
    candidates, found = Candidates(), list[dict[str, Any]]()

    def add(name: str, similarities: np.ndarray, strength: float, error: float) -> dict[str, Any]:
        scores, drawn = evaluate_similarities(similarities, models.gold)
        candidates.add(name, scores, drawn)
        found.append({**scores, **paired_gain(untuned, drawn), "name": name, "strength": strength, "error": error})
        return found[-1]

    for step, (similarities, error) in enumerate(zip(models.tuned, models.errors, strict=True), start=1):
        add(f"step-{step}", similarities, 1.0, float(error))
    place = max(range(evaluations), key=lambda one: found[one]["score"])
    marks = [{**before, "strength": 0.0}]
    for strength in MARKS[1:-1] if design.blends else ():
        similarities = (1 - strength) * models.untuned + strength * models.tuned[place]
        marks.append(add(f"strength-{strength}", similarities, strength, blend_error(design, float(models.errors[place]), strength)))
    kept = best_mark([*marks, found[place]])
    if kept["strength"] == 0:
        return Intervals(0.0, [0.0, 0.0], [0.0, 0.0])
    allowed = candidates.select(kept["name"], kept, untuned, besides=1)["gain_interval"]
    return Intervals(true_score(kept["error"]) - true_score(ERROR), kept["gain_interval"], allowed)


def simulate_folds(design: Design, evaluations: int, rows: int, rng: np.random.Generator) -> Intervals:
    """Simulate a training evaluated in folds, each with its own models."""
    errors = ERROR * np.exp(design.spread * rng.normal(size=evaluations))
    tried: list[list[FoldScores]] = [[] for _ in range(evaluations + 1)]
    for _ in range(design.folds):
        models = draw(design, errors, rows // design.folds, rng)
        for folds, similarities in zip(tried, [models.untuned, *models.tuned], strict=True):
            folds.append(FoldScores(*evaluate_similarities(similarities, models.gold)))
    untuned = [one.resampled for one in tried[0]]
    every = [pool_folds(folds, untuned) for folds in tried]
    place = max(range(len(tried)), key=lambda one: every[one]["score"])
    chosen_scores = nested_evaluation(tried, untuned)
    if place == 0 or chosen_scores["score"] <= every[0]["score"]:
        return Intervals(0.0, [0.0, 0.0], [0.0, 0.0])
    return Intervals(
        true_score(float(errors[place - 1])) - true_score(ERROR), every[place]["gain_interval"], chosen_scores["gain_interval"]
    )


def rows_of(arguments: argparse.Namespace) -> Iterator[tuple[str, bool]]:
    """Rows of the table, and whether more intervals lie above the true gain than may."""
    for design in DESIGNS:
        rng = np.random.default_rng(arguments.seed)
        take = simulate if design.folds == 1 else simulate_folds
        found = [take(design, arguments.evaluations, arguments.rows, rng) for _ in range(arguments.runs)]
        true = np.array([one.true for one in found])
        plain, allowed = np.array([one.plain for one in found]), np.array([one.allowed for one in found])
        above = [float(np.mean(ends[:, 0] > true)) for ends in (plain, allowed)]
        below = [float(np.mean(ends[:, 1] < true)) for ends in (plain, allowed)]
        kept = [float(np.ptp(ends[ends.any(axis=1)], axis=1).mean()) if ends.any() else 0.0 for ends in (plain, allowed)]
        cells = [f"{100 * one:.1f} % → {100 * other:.1f} %" for one, other in (above, below)]
        yield f"| {design.title} | {' | '.join(cells)} | {kept[0]:.3f} → {kept[1]:.3f} |", above[1] > MAX_ABOVE


SETS = {"stsb": "dev.csv", "sick": "trial.csv", "mrpc": "", "trec": "", "banking77": ""}
"""Folder of each real set, and its file of held-out rows, or the rest of train.csv."""
CHOICES: Mapping[str, Mapping[str, Any]] = {
    "usual folds": {"evaluation": "folds"},
    "two folds": {"evaluation": "folds", "max_folds": 2},
    "one split": {"evaluation": "split"},
}
_COLUMNS, _CLASSES, _HELD_OUT = 3, 10, 1_000


def read_set(folder: Path, rows: int, seed: int) -> tuple[Table, Table]:
    """Draw training rows of a set, and return them with up to 1,000 held-out ones, the same for every seed."""
    names, pool = _read_csv(folder / "train.csv")
    if len(names) < _COLUMNS:  # of many classes, a few, so that each has several rows
        classes = sorted({cells[-1] for cells in pool})[:_CLASSES]
        pool = [cells for cells in pool if cells[-1] in classes]
    if SETS[folder.name]:
        held = _read_csv(folder / SETS[folder.name])[1]
    else:
        order = np.random.default_rng(0).permutation(len(pool))
        held, pool = [pool[place] for place in order[: len(pool) // 3]], [pool[place] for place in order[len(pool) // 3 :]]
    drawn = [pool[place] for place in np.random.default_rng(seed).permutation(len(pool))[:rows]]
    train, test = (
        table_from_columns(folder.name, dict(zip(names, zip(*some, strict=True), strict=True))) for some in (drawn, held[:_HELD_OUT])
    )
    return train, test


def _read_csv(path: Path) -> tuple[list[str], list[list[str]]]:
    with path.open(encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    return names[:_COLUMNS], [cells[:_COLUMNS] for cells in rows]


def compare_folds(studio: Studio, folder: Path, model: str, rows: int, seeds: int) -> Iterator[str]:
    """Yield a row of the table for each way of choosing the model."""
    choices = SchemaOverrides(as_read=True)
    scores: dict[str, list[float]] = {name: [] for name in ("untuned", *CHOICES)}
    drawn: dict[str, list[np.ndarray]] = {name: [] for name in scores}
    seconds = dict.fromkeys(scores, 0.0)
    kept = dict.fromkeys(scores, 0)
    for seed in range(seeds):
        table, held_table = read_set(folder, rows, seed)
        held = studio.planner.plan(TrainRequest(table, held_table, choices=choices, model=model)).dev_examples
        assert held is not None
        for name, known in scores.items():
            plan = studio.planner.plan(TrainRequest(table, choices=choices, model=model, overrides={"seed": seed, **CHOICES.get(name, {})}))
            began, found = time.process_time(), model
            if name in CHOICES:
                run = studio.fine_tune.train(plan)
                found = run.id
                kept[name] += run.after.get("strength") == 0
            seconds[name] += (time.process_time() - began) / seeds
            evaluator = Evaluator(held, train_rows=plan.examples)
            known.append(float(evaluator(studio.catalog.load_trainable(found))["score"]))
            assert evaluator.resampled is not None
            drawn[name].append(evaluator.resampled)
    usual = next(iter(CHOICES))
    for name, values in scores.items():
        difference, interval = (
            np.subtract(values, scores[usual]),
            percentile_interval(np.mean(np.subtract(drawn[name], drawn[usual]), axis=0)),
        )
        yield (
            f"| {folder.name} | {name} | {np.mean(values):.4f} | {difference.mean():+.4f} | {interval[0]:+.4f} to {interval[1]:+.4f} "
            f"| {difference.min():+.4f} to {difference.max():+.4f} | {kept[name]} of {seeds} | {seconds[name]:.0f} |"
        )


def print_folds(arguments: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as home:
        os.environ["SBERT_STUDIO_HOME"] = home
        with Studio() as studio:
            print(f"{arguments.rows} rows, {arguments.seeds} seeds; differences are from the usual folds\n")
            print("| set | chosen by | score | difference | 95 % interval | range over the seeds | untuned kept | processor seconds |")
            print("| --- | --- | --- | --- | --- | --- | --- | --- |")
            for name in arguments.only:
                table = read_set(arguments.folds / name, 10**6, 0)[0]
                words = {"text": [text for column in table.columns[:-1] for text in table.column(column)]}
                model = arguments.model or studio.static_embeddings.distill(vocabulary=table_from_columns(name, words)).model
                for row in compare_folds(studio, arguments.folds / name, model, arguments.rows, arguments.seeds):
                    print(row, flush=True)


def main() -> int:
    """Print the table; 1 where too many intervals lie above the true gain."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("runs", 300), ("rows", 200), ("evaluations", 10), ("seed", 12)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--folds", type=Path, metavar="DATA")
    parser.add_argument("--model", default="")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=list(SETS), choices=list(SETS))
    arguments = parser.parse_args()
    if arguments.folds:
        print_folds(arguments)
        return 0
    print(f"{arguments.runs} trainings each, {arguments.evaluations} evaluations, {arguments.rows} rows; alone → with the choice\n")
    print("| simulation | entirely above the true gain | entirely below | mean width, untuned not kept |\n| --- | --- | --- | --- |")
    wrong = 0
    for row, too_many in rows_of(arguments):
        print(row, flush=True)
        wrong += too_many
    print(f"\n{wrong} of {len(DESIGNS)} simulations have more than {MAX_ABOVE:.0%} of intervals above the true gain.")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
