"""Validation during training: held-out rows, the score of a model on them, and the candidates among which a run selects."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ..data.findings import count
from ..data.split import has_single_target, split_examples
from ..errors import StudioError
from ..evaluation.bootstrap import MIN_CLUSTERS, ScoredModel, paired_gain, selected_model_gain
from ..evaluation.evaluate import SCORED_KINDS, evaluate_examples, main_score, sample_reference
from ..workspace import atomic_file, write_json

if TYPE_CHECKING:
    from ..data.examples import Examples
    from ..models.trainable import Trainable
    from .spec import TrainSpec


def step_name(step: int) -> str:
    """Return the name of the evaluation after ``step`` steps."""
    return f"step-{step}"


class Candidates:
    """Scores and float32 bootstrap scores of every candidate by name.

    Attributes:
        complete: True if all evaluations so far are known. Checkpoints of earlier versions do not store them; intervals then ignore the
            selection.
    """

    def __init__(self) -> None:
        self.complete = True
        self._models: dict[str, ScoredModel] = {}

    def add(self, name: str, scores: Mapping[str, Any], resampled: np.ndarray | None) -> None:
        """Add or replace a candidate."""
        score = scores.get("score")
        drawn = np.empty(0, np.float32) if resampled is None else np.asarray(resampled, np.float32)
        self._models[name] = ScoredModel(float("nan") if score is None else float(score), drawn)

    def load(self, scores: Mapping[str, float] | None, resampled: Mapping[str, Tensor]) -> None:
        """Restore the candidates of a checkpoint; ``None`` if it does not store its evaluations."""
        self.complete = scores is not None
        self._models.clear()
        for name, score in (scores or {}).items():
            self.add(name, {"score": score}, resampled[name].numpy() if name in resampled else None)

    def scores(self) -> dict[str, float] | None:
        """Return the score of each candidate, as for :meth:`load`."""
        return {name: model.score for name, model in self._models.items()} if self.complete else None

    def tensors(self) -> dict[str, Tensor]:
        """Return the bootstrap scores of each candidate, (resamples,) float32."""
        return {name: torch.from_numpy(model.resampled) for name, model in self._models.items() if len(model.resampled)}

    def select(self, name: str, scores: Mapping[str, Any], untuned: np.ndarray | None, *, besides: int = 0) -> dict[str, Any]:
        """Return the scores of the selected candidate, with ``gain_interval`` corrected for the selection.

        Args:
            scores: scores of the candidate; without a gain interval none is added.
            untuned: bootstrap scores of the base model.
            besides: number of further models that might have been selected, such as the base model.

        Returns:
            ``scores`` with the interval and ``chosen_among``, the number of models; unchanged if not all candidates are known.
        """
        found = dict(scores)
        if not self.complete:
            return found
        found["chosen_among"] = len(self._models) + besides
        if untuned is not None and "gain_interval" in scores and name in self._models:
            others = [model for other, model in self._models.items() if other != name]
            found |= selected_model_gain(np.asarray(untuned, np.float32), self._models[name], others)
        return found


_FOLDER = "marks"
UNTUNED = "untuned.npy"


@dataclass(frozen=True)
class EvaluationLog:
    """Files ``marks/<name>.json`` and ``.npy`` of a training: scores, and bootstrap scores.

    Names are ``step-<n>`` for the weights after n steps, and ``strength-<s>`` for a blend of the final ones.
    """

    folder: Path

    def add(self, name: str, scores: Mapping[str, Any], resampled: np.ndarray | None) -> None:
        """Store an evaluation."""
        place = self.folder / _FOLDER
        if resampled is not None:
            with atomic_file(place / f"{name}.npy") as part:
                np.save(part, resampled, allow_pickle=False)
        write_json(place / f"{name}.json", dict(scores))

    def clear(self) -> None:
        """Remove all evaluations."""
        shutil.rmtree(self.folder / _FOLDER, ignore_errors=True)

    @property
    def is_readable(self) -> bool:
        """Return True if all stored evaluations are readable."""
        try:
            for path in (self.folder / _FOLDER).glob("*.json"):
                self.scores(path.stem)
                self.resampled(path.stem)
            self.untuned()
        except (OSError, ValueError, EOFError):
            return False
        return True

    def scores(self, name: str) -> dict[str, Any]:
        """Return the scores of an evaluation."""
        found: dict[str, Any] = json.loads((self.folder / _FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        return found

    def resampled(self, name: str) -> np.ndarray | None:
        """Return the bootstrap scores of an evaluation, (resamples,); ``None`` if the task has none."""
        path = self.folder / _FOLDER / f"{name}.npy"
        return np.load(path, allow_pickle=False) if path.is_file() else None

    def untuned(self) -> np.ndarray | None:
        """Return the bootstrap scores of the base model."""
        path = self.folder / UNTUNED
        return np.load(path, allow_pickle=False) if path.is_file() else None

    def steps(self) -> list[int]:
        """Return the evaluated steps in order."""
        return sorted(int(path.stem.removeprefix("step-")) for path in (self.folder / _FOLDER).glob("step-*.json"))

    def strengths(self) -> list[float]:
        """Return the evaluated blends of the final weights in order."""
        return sorted(float(path.stem.removeprefix("strength-")) for path in (self.folder / _FOLDER).glob("strength-*.json"))


_MIN_PER_LABEL = 2


class Evaluator:
    """Evaluate a model on held-out rows, in float32 and without dropout.

    Args:
        dev: held-out rows.
        learned: training rows; labelled texts are evaluated by their nearest neighbors among them.
        folder: stores the bootstrap scores of the base model, so that a resumed run can report its gain.

    Attributes:
        seconds: mean duration of an evaluation.
        resampled: bootstrap scores of the last evaluation, if the task has them.
    """

    def __init__(self, dev: Examples, folder: Path | None = None, *, learned: Examples | None = None) -> None:
        self.dev = dev
        self.known = sample_reference(learned) if learned is not None and learned.kind == dev.kind == "labelled_texts" else None
        self._untuned = None if folder is None else folder / UNTUNED
        self._times: list[float] = []
        self.resampled: np.ndarray | None = None

    @property
    def seconds(self) -> float:
        """Mean duration of an evaluation, 0 before the first."""
        return sum(self._times) / len(self._times) if self._times else 0.0

    def __call__(self, encoder: Trainable, *, untuned: bool = False) -> dict[str, Any]:
        """Return ``{"metric", "score", "task", "rows", ...}``: the main score and the whole report.

        Args:
            untuned: True for the base model; the scores of other models get ``gain_interval``, the 95 % interval of the improvement over
                it.
        """
        start = time.perf_counter()
        report = evaluate_examples(encoder, self.dev, reference=self.known)
        self._times.append(time.perf_counter() - start)
        metric, score = main_score(report)
        self.resampled = report.resampled
        return {"metric": metric, "score": score, **report.to_json(), **self._gain(report.resampled, untuned)}

    def repair(self, untuned: Trainable) -> None:
        """Evaluate the base model again if its stored scores are unreadable."""
        if self._untuned is None or not self._untuned.is_file():
            return
        try:
            np.load(self._untuned, allow_pickle=False)
        except (OSError, ValueError, EOFError):
            self(untuned, untuned=True)

    def untuned(self) -> np.ndarray | None:
        """Return the bootstrap scores of the base model, (resamples,); ``None`` if not stored."""
        return None if self._untuned is None or not self._untuned.is_file() else np.load(self._untuned, allow_pickle=False)

    def _gain(self, found: np.ndarray | None, untuned: bool) -> dict[str, Any]:
        if self._untuned is None or found is None:
            return {}
        if untuned:
            with atomic_file(self._untuned) as part:
                np.save(part, found, allow_pickle=False)
            return {}
        return paired_gain(self.untuned(), found)


def stratify_option(spec: TrainSpec) -> bool | None:
    """Return ``spec.stratify`` for the split; ``None`` lets the kind of examples decide."""
    return {"auto": None, "yes": True, "no": False}[spec.stratify]


def uninformative_reason(held: Examples) -> str:
    """Return the reason why no model can be evaluated on these rows; empty if one can."""
    if not has_single_target(held):
        return ""
    assert held.targets is not None
    same = f"are labelled “{held.labels[int(held.targets[0])]}”" if held.labels else "have the same score"
    return f"all {len(held):,} held-out rows {same}, by which one model is as good as another"


def weak_validation_warning(held: Examples | None) -> str:
    """Return a warning if the held-out rows are too few, overall or of one of two labels, to tell a gain from chance; else empty."""
    if held is not None and len(held) < MIN_CLUSTERS:
        return f"{count(len(held), 'held-out row')}: too few to tell a gain from chance"
    rarer = rarer_label(held) if held is not None and held.ordered else None
    if held is None or rarer is None or rarer[1] > _MIN_PER_LABEL:
        return ""
    only = f"only {rarer[1]} of the {len(held):,} held-out rows {'is' if rarer[1] == 1 else 'are'} labelled “{rarer[0]}”"
    return f"{only}: too few to tell a gain from chance"


def rarer_label(held: Examples) -> tuple[str, int] | None:
    """Return the rarer of two pair labels and its number of rows; ``None`` for other kinds."""
    if held.kind != "labelled_pairs" or held.targets is None or len(held.labels) != 2:
        return None
    sizes = np.bincount(held.targets.astype(np.int64), minlength=2)
    return held.labels[int(sizes.argmin())], int(sizes.min())


def hold_out(spec: TrainSpec, examples: Examples, dev: Examples | None) -> tuple[Examples, Examples | None, str]:
    """Return training rows and held-out rows: ``dev``, or a part of ``examples`` that shares no text with the rest.

    Returns:
        Both parts, and the reason why there are no held-out rows if there are none (all may have the same score or label).

    Raises:
        StudioError: a split by group is requested, and there are no groups.
    """
    if dev is not None and len(dev) and dev.kind in SCORED_KINDS:
        why = uninformative_reason(dev)
        return examples, None if why else dev, why
    if examples.kind not in SCORED_KINDS:
        return examples, None, "bare sentences say nothing of how alike two of them are"
    if not spec.dev_fraction:
        return examples, None, "no rows are held out"
    if spec.by_group and not examples.groups:
        raise StudioError("a split by group was asked for, but no column holds groups", "choose the group column")
    try:
        rest, held = split_examples(examples, spec.dev_fraction, spec.seed, groups=spec.by_group, stratify=stratify_option(spec))
    except StudioError as error:
        return examples, None, error.message
    if len(held) < 2 or not len(rest):
        return examples, None, f"{len(examples)} rows are too few to hold some out"
    why = uninformative_reason(held)
    return (examples, None, why) if why else (rest, held, "")
