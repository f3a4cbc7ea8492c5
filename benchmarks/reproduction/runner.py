"""Run rows one after the other: train, evaluate, store."""

from __future__ import annotations

import csv
import io
import json
import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from .datasets import ROOT, prepare
from .results import Results
from .rows import Row, Sets


class CommandError(Exception):
    """A command failed; its message is on stderr.

    Attributes:
        stopped: whether a user stopped it.
    """

    def __init__(self, message: str, *, stopped: bool = False) -> None:
        super().__init__(message)
        self.stopped = stopped


def fill_in(words: str, data: Path, work: Path, out: Path, seed: int) -> str:
    """Return one word of a command with its paths and its seed filled in."""
    for name, path in (("DATA", data), ("WORK", work), ("OUT", out)):
        if words == name or words.startswith(f"{name}/"):
            return str(path) + words[len(name) :]
    return str(seed) if words == "SEED" else words


def sbert_studio(*arguments: str) -> dict[str, Any]:
    """Run ``sbert-studio ... --json`` and return its answer.

    Raises:
        CommandError: it failed or was stopped.
    """
    from sbert_studio.cli.main import run

    print("$", shlex.join(["sbert-studio", *arguments, "--json"]), file=sys.stderr, flush=True)
    written = io.StringIO()
    with redirect_stdout(written):
        code = run([*arguments, "--json"])
    if code:
        raise CommandError(f"sbert-studio {arguments[0]} exited with {code}", stopped=code == 130)
    answer: dict[str, Any] = json.loads(written.getvalue())
    if answer.get("status", "finished") != "finished":
        raise CommandError(f"the training is {answer['status']}", stopped=answer["status"] == "stopped")
    return answer


# The command's correlation and this file's may differ by the order of sums.
_SAME = 1e-4
# Triplets that rounding may decide differently: vectors from other batches differ in the last bits.
_TIES = 2


def evaluate_model(model: str, path: Path, sets: Sets) -> dict[str, float]:
    """Return ``{mse, pearson, spearman, rows}`` of a model on a file, for triplets ``{accuracy, rows}``, as ``evaluate`` reports them.

    The squared error compares the prediction with score / top: a pair model predicts with its head, vectors with their cosine,
    clipped to 0..1.

    Raises:
        CommandError: ``evaluate`` fails.
        ValueError: the rows read here are not those that ``evaluate`` used.
    """
    answer = sbert_studio("evaluate", model, "--data", str(path), "--task", sets.task)
    if sets.task == "triplets":
        return _triplets(model, path, answer)
    scores = answer.get("pair") or answer["cosine"]
    texts, gold = _rows(path, sets)
    predictions = predict(model, texts)
    with np.errstate(invalid="ignore"):
        here = float(np.corrcoef(predictions, gold)[0, 1])
    if len(gold) != answer["rows"] or (np.isfinite(here) and abs(here - scores["pearson"]) > _SAME):
        raise ValueError(f"{path.name}: r = {here:.4f} of {len(gold)} rows here, {scores['pearson']:.4f} of {answer['rows']} by evaluate")
    error = float(np.mean((np.clip(predictions, 0, 1) - gold) ** 2))
    if "mse" in scores:
        error = scores["mse"]
    return {"mse": error, "pearson": scores["pearson"], "spearman": scores["spearman"], "rows": answer["rows"]}


def fold_scores(answer: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the mean Spearman correlation over the folds of a training, ``{spearman, sd}``, untuned and tuned.

    Args:
        answer: of ``train --folds``.

    Raises:
        ValueError: the training reports no Spearman correlation by fold.
    """
    found: dict[str, dict[str, Any]] = {}
    for part, key in (("untuned", "before"), ("test", "after")):
        scores = answer[key]
        if scores.get("metric") != "cosine_spearman" or len(scores.get("each", ())) < 2:
            raise ValueError(f"the training gives no Spearman correlations of folds: {dict(scores)}")
        found[part] = {"spearman": scores["score"], "sd": scores["sd"], "rows": int(answer["accounts"]["data"]["used"])}
    return found


def _triplets(model: str, path: Path, answer: Mapping[str, Any]) -> dict[str, float]:
    """Return ``{accuracy, rows}`` of a model on triplets, checked against the scores of each pair."""
    accuracy = float(answer["accuracy"] if "accuracy" in answer else answer["pair"]["accuracy"])
    with path.open(encoding="utf-8", newline="") as file:
        anchors, positives, *negatives = (list(column) for column in zip(*list(csv.reader(file))[1:], strict=True))
    near = predict(model, (anchors, positives))
    farther = np.all([near > predict(model, (anchors, column)) for column in negatives], axis=0)
    if len(anchors) != answer["rows"] or abs(float(farther.mean()) - accuracy) * len(anchors) > _TIES:
        raise ValueError(
            f"{path.name}: accuracy {farther.mean():.4f} of {len(anchors)} rows here, {accuracy:.4f} of {answer['rows']} by evaluate"
        )
    return {"accuracy": accuracy, "rows": answer["rows"]}


def predict(model: str, texts: tuple[list[str], list[str]]) -> np.ndarray:
    """Return (n,) float64: each pair's score, or the cosine of its vectors."""
    from sbert_studio.evaluation.encoding import pair_similarities
    from sbert_studio.services import Studio

    return pair_similarities(Studio(allow_folders=True).catalog.load_any(model), *texts)


def describe_model(model: str) -> dict[str, Any]:
    from sbert_studio.services import Studio

    return dict(Studio(allow_folders=True).catalog.load_any(model).describe())


def _rows(path: Path, sets: Sets) -> tuple[tuple[list[str], list[str]], np.ndarray]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    gold = np.array([float(row[sets.target]) / sets.top for row in rows])
    return ([row["sentence1"] for row in rows], [row["sentence2"] for row in rows]), gold


@dataclass(frozen=True)
class Places:
    """The folder of the public sets, and the folder for what is made from them."""

    data: Path
    work: Path

    def model(self, row: Row, seed: int) -> Path:
        """Return the path of the model that a row trains with a seed."""
        return self.work / f"{row.name}-{seed}"

    def resolve(self, row: Row, seed: int, word: str) -> str:
        """Return one word of a row's commands with its paths filled in."""
        return fill_in(word, self.data, self.work, self.model(row, seed), seed)


def run_rows(
    rows: Sequence[Row], places: Places, results: Results, *, minutes: float = float("inf"), seeds: int | None = None, hub: bool = False
) -> int:
    """Run the remaining trainings of ``rows``; stop before one that would exceed ``minutes``.

    A training that fails is reported, and the next one begins. With ``seeds``, only the first so many seeds of each row run.

    Returns:
        Number of trainings that failed.
    """
    _commit()  # now, since files may change while this runs
    began, failed = time.monotonic(), 0
    for row in rows:
        if row.sets is None or (row.missing_requirement and not (hub and row.needs)):
            continue
        left = [seed for seed in results.remaining_seeds(row) if seed in row.seeds[:seeds]]
        if left and (absent := row.missing_sets(places.data)):
            print(f"{row.name}: skipped, the folder of sets lacks {', '.join(absent)}", file=sys.stderr)
            continue
        for seed in left:
            spent = (time.monotonic() - began) / 60
            if spent + row.minutes / len(row.seeds) > minutes:
                print(f"{row.name}: would exceed {minutes:g} minutes; {spent:.1f} have passed", file=sys.stderr)
                return failed
            print(f"== {row.name}, seed {seed}", file=sys.stderr, flush=True)
            try:
                results.add(row, run_once(row, seed, places))
            except CommandError as error:
                if error.stopped:
                    raise KeyboardInterrupt from error
                print(f"{row.name}: {error}", file=sys.stderr)
                failed += 1
                break
    return failed


def run_once(row: Row, seed: int, places: Places) -> dict[str, Any]:
    """Run one training of a row; return its scores, seconds, parameters, and the circumstances of the measurement.

    Raises:
        CommandError: a command failed or was stopped.
    """
    assert row.sets is not None
    load = os.getloadavg()[0]
    prepare(row.prepared, places.data, places.work)
    before = time.process_time()
    answers = [sbert_studio(*(places.resolve(row, seed, word) for word in shlex.split(command))) for command in row.commands]
    processor = time.process_time() - before
    model = places.resolve(row, seed, row.model)
    if row.sets.task == "folds":
        scores = fold_scores(answers[-1])
    else:
        folder = places.work if row.sets.folder == "WORK" else places.data
        scores = {part: evaluate_model(model, folder / file, row.sets) for part, file in row.sets.files.items()}
    seconds = sum(float(answer["seconds"]) for answer in answers)
    steps = sum(int(answer.get("steps", 0)) for answer in answers)
    if any("run" in answer for answer in answers):
        sbert_studio("runs", "--clean", "0", "--yes")  # the model is in WORK
    return {
        "seed": seed, **scores, "parameters": describe_model(model)["parameters"], "training_seconds": round(seconds, 1),
        "processor_seconds": round(processor, 1), "steps": steps,
        **circumstances(), "load_before": round(load, 1),
    }  # fmt: skip


def circumstances() -> dict[str, Any]:
    """Return the code, its libraries and the machine that a figure is measured with."""
    import torch

    names = ("sbert-studio", "torch", "transformers", "numpy")
    return {
        "commit": _commit(),
        "versions": {name: _version(name) for name in names} | {"python": platform.python_version()},
        "threads": torch.get_num_threads(),
        "machine": f"{_processor()}, {os.cpu_count()} cores",
        "date": datetime.now(UTC).date().isoformat(),
    }  # fmt: skip


@lru_cache(maxsize=1)
def _commit() -> str:
    """Return the commit of this code, with ``+`` if it was changed since; the results themselves do not count."""
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", "sbert_studio", "benchmarks", "requirements.txt")
    return _git("rev-parse", "--short=10", "HEAD") + ("+" if changed else "")


def _git(*arguments: str) -> str:
    found = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip()


def _version(name: str) -> str:
    if name == "sbert-studio":
        from sbert_studio import __version__

        return __version__
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
