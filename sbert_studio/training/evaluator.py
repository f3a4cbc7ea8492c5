"""Held-out rows, the score of a model on them, and the candidates that a run chooses among."""

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
from ..data.splits.splitting import all_alike, split
from ..errors import StudioError
from ..evaluation.bootstrap import MIN_CLUSTERS, ScoredModel, paired_gain, selected_model_gain
from ..evaluation.evaluate import SCORED_KINDS, evaluate_examples, main_score, sample_reference
from ..workspace import atomic_file, write_json

if TYPE_CHECKING:
    from ..data.examples import Examples
    from ..models.trainable import Trainable
    from .spec import TrainSpec


def name_of_step(step: int) -> str:
    """Return the name of the evaluation after so many steps."""
    return f"step-{step}"


class Candidates:
    """Scores, and resampled scores in float32, of every candidate by its name.

    Attributes:
        complete: whether all evaluations so far are known. Checkpoints of earlier versions hold none; the choice among them cannot be
            repeated, and intervals are those of the kept model by itself.
    """

    def __init__(self) -> None:
        self.complete = True
        self._models: dict[str, ScoredModel] = {}

    def add(self, name: str, scores: Mapping[str, Any], resampled: np.ndarray | None) -> None:
        """Add one candidate, or replace the one of this name."""
        score = scores.get("score")
        drawn = np.empty(0, np.float32) if resampled is None else np.asarray(resampled, np.float32)
        self._models[name] = ScoredModel(float("nan") if score is None else float(score), drawn)

    def load(self, scores: Mapping[str, float] | None, resampled: Mapping[str, Tensor]) -> None:
        """Replace all candidates by those of a checkpoint; ``None`` where it holds no evaluations, although there were some."""
        self.complete = scores is not None
        self._models.clear()
        for name, score in (scores or {}).items():
            self.add(name, {"score": score}, resampled[name].numpy() if name in resampled else None)

    def scores(self) -> dict[str, float] | None:
        """Return the score of each candidate, as :meth:`load` takes them."""
        return {name: model.score for name, model in self._models.items()} if self.complete else None

    def tensors(self) -> dict[str, Tensor]:
        """Return the resampled scores of each candidate that has any, (resamples,) float32."""
        return {name: torch.from_numpy(model.resampled) for name, model in self._models.items() if len(model.resampled)}

    def chosen(self, name: str, scores: Mapping[str, Any], untuned: np.ndarray | None, *, besides: int = 0) -> dict[str, Any]:
        """Return the scores of the candidate that is kept, with ``gain_interval`` as the choice among all candidates makes it.

        Args:
            scores: the candidate's own. Without an interval of its own gain it has none here.
            untuned: the untuned model's resampled scores.
            besides: other models that might have been kept, such as the untuned one.

        Returns:
            ``scores`` with the interval and with ``chosen_among``, the number of models; unchanged where not all candidates are known.
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
class Marks:
    """``marks/<name>.json`` and ``.npy`` below a training's folder: scores, and the main score in every bootstrap resample.

    The names are ``step-<n>`` for the weights after so many steps, and ``strength-<s>`` for a blend of the last ones.
    """

    folder: Path

    def note(self, name: str, scores: Mapping[str, Any], resampled: np.ndarray | None) -> None:
        """Keep one evaluation."""
        place = self.folder / _FOLDER
        if resampled is not None:
            with atomic_file(place / f"{name}.npy") as part:
                np.save(part, resampled, allow_pickle=False)
        write_json(place / f"{name}.json", dict(scores))

    def clear(self) -> None:
        """Remove all evaluations."""
        shutil.rmtree(self.folder / _FOLDER, ignore_errors=True)

    @property
    def whole(self) -> bool:
        """Whether every evaluation that was kept can be read."""
        try:
            for path in (self.folder / _FOLDER).glob("*.json"):
                self.scores(path.stem)
                self.resampled(path.stem)
            self.untuned()
        except (OSError, ValueError, EOFError):
            return False
        return True

    def scores(self, name: str) -> dict[str, Any]:
        """The scores of one evaluation."""
        found: dict[str, Any] = json.loads((self.folder / _FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        return found

    def resampled(self, name: str) -> np.ndarray | None:
        """The resampled scores of one evaluation, (resamples,); ``None`` where the task has none."""
        path = self.folder / _FOLDER / f"{name}.npy"
        return np.load(path, allow_pickle=False) if path.is_file() else None

    def untuned(self) -> np.ndarray | None:
        """The untuned model's resampled scores, which the judge has kept."""
        path = self.folder / UNTUNED
        return np.load(path, allow_pickle=False) if path.is_file() else None

    def steps(self) -> list[int]:
        """After which steps there were evaluations, in order."""
        return sorted(int(path.stem.removeprefix("step-")) for path in (self.folder / _FOLDER).glob("step-*.json"))

    def strengths(self) -> list[float]:
        """Which blends of the last weights were judged, in order."""
        return sorted(float(path.stem.removeprefix("strength-")) for path in (self.folder / _FOLDER).glob("strength-*.json"))


_FEW_OF_ONE = 2


class Evaluator:
    """Judges an encoder or a cross-encoder on rows that it never learns from, in float32 and without dropout.

    Args:
        dev: the rows.
        learned: the rows that are learned from; texts with a category are judged by where they fall among these.
        folder: where the untuned model's resampled scores are kept, so that a run that was resumed can still tell its gain.

    Attributes:
        seconds: what one evaluation took on average, for the estimate of the time left.
        resampled: the last main score in every bootstrap resample, where the task has such.
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
        """``{"metric", "score", "task", "rows", ...}``: the one score that decides, then the whole report.

        Args:
            untuned: whether this is the model that the others are compared with; they have ``gain_interval``, the 95% interval
                of by how much they are better than it (paired bootstrap).
        """
        start = time.perf_counter()
        report = evaluate_examples(encoder, self.dev, reference=self.known)
        self._times.append(time.perf_counter() - start)
        metric, score = main_score(report)
        self.resampled = report.resampled
        return {"metric": metric, "score": score, **report.to_json(), **self._gain(report.resampled, untuned)}

    def mend(self, untuned: Trainable) -> None:
        """Judge the ``untuned`` model again where what was kept of it can no longer be read."""
        if self._untuned is None or not self._untuned.is_file():
            return
        try:
            np.load(self._untuned, allow_pickle=False)
        except (OSError, ValueError, EOFError):
            self(untuned, untuned=True)

    def untuned(self) -> np.ndarray | None:
        """Return the untuned model's resampled scores, (resamples,); ``None`` where they were not kept."""
        return None if self._untuned is None or not self._untuned.is_file() else np.load(self._untuned, allow_pickle=False)

    def _gain(self, found: np.ndarray | None, untuned: bool) -> dict[str, Any]:
        if self._untuned is None or found is None:
            return {}
        if untuned:
            with atomic_file(self._untuned) as part:
                np.save(part, found, allow_pickle=False)
            return {}
        return paired_gain(self.untuned(), found)


def stratified(spec: TrainSpec) -> bool | None:
    """``spec.stratify`` as the split has it; ``None`` leaves it to the kind of the examples."""
    return {"auto": None, "yes": True, "no": False}[spec.stratify]


def says_nothing(held: Examples) -> str:
    """Why no model can be judged by these rows; nothing where one can."""
    if not all_alike(held):
        return ""
    assert held.targets is not None
    same = f"are labelled “{held.labels[int(held.targets[0])]}”" if held.labels else "have the same score"
    return f"all {len(held):,} held-out rows {same}, by which one model is as good as another"


def says_little(held: Examples | None) -> str:
    """Why rows that judge a model cannot tell a gain from chance, for few of them have the one of two labels, or there are but few at all;
    nothing where they can.
    """
    if held is not None and len(held) < MIN_CLUSTERS:
        return f"{count(len(held), 'held-out row')}: too few to tell a gain from chance"
    rarer = of_the_rarer(held) if held is not None and held.ordered else None
    if held is None or rarer is None or rarer[1] > _FEW_OF_ONE:
        return ""
    only = f"only {rarer[1]} of the {len(held):,} held-out rows {'is' if rarer[1] == 1 else 'are'} labelled “{rarer[0]}”"
    return f"{only}: too few to tell a gain from chance"


def of_the_rarer(held: Examples) -> tuple[str, int] | None:
    """Of pairs with two labels the rarer one and how many rows have it, which may be none; ``None`` for rows of another kind."""
    if held.kind != "labelled_pairs" or held.targets is None or len(held.labels) != 2:
        return None
    sizes = np.bincount(held.targets.astype(np.int64), minlength=2)
    return held.labels[int(sizes.argmin())], int(sizes.min())


def hold_out(spec: TrainSpec, examples: Examples, dev: Examples | None) -> tuple[Examples, Examples | None, str]:
    """Rows to learn from and rows to be judged by: those given, else a part of ``examples`` that shares no text with the rest.

    Returns:
        The two parts, and why there are no rows to be judged by where there are none: all held-out pairs may have the same score or
        label, by which one model is as good as another.

    Raises:
        StudioError: a split by group is asked for, and there are no groups.
    """
    if dev is not None and len(dev) and dev.kind in SCORED_KINDS:
        why = says_nothing(dev)
        return examples, None if why else dev, why
    if examples.kind not in SCORED_KINDS:
        return examples, None, "bare sentences say nothing of how alike two of them are"
    if not spec.dev_fraction:
        return examples, None, "no rows are held out"
    if spec.by_group and not examples.groups:
        raise StudioError("a split by group was asked for, but no column holds groups", "choose the group column")
    try:
        rest, held = split(examples, spec.dev_fraction, spec.seed, groups=spec.by_group, stratify=stratified(spec))
    except StudioError as error:
        return examples, None, error.message
    if len(held) < 2 or not len(rest):
        return examples, None, f"{len(examples)} rows are too few to hold some out"
    why = says_nothing(held)
    return (examples, None, why) if why else (rest, held, "")
