"""Validation during training: held-out rows, candidates that a run selects from, and general quality on everyday language."""

from __future__ import annotations

import csv
import json
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import Tensor

from ..data.samples import ASSETS
from ..data.split import has_single_target, split_examples
from ..errors import StudioError
from ..evaluation.bootstrap import MIN_CLUSTERS, ScoredModel, paired_gain, percentile_interval, selected_model_gain
from ..evaluation.encoding import pair_similarities
from ..evaluation.evaluate import SCORED_KINDS, evaluate_examples, main_score, sample_reference
from ..evaluation.ranking import RetrievalProbe
from ..evaluation.tasks.sts import bootstrap_spearman, spearman
from ..i18n import _, ngettext
from ..models.base import Encoder
from ..workspace import atomic_file, write_json

if TYPE_CHECKING:
    from ..data.examples import Examples
    from ..data.retrieval import RetrievalSet
    from ..models.trainable import Trainable
    from .spec import TrainSpec


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
        score = scores.get("score")
        drawn = np.empty(0, np.float32) if resampled is None else np.asarray(resampled, np.float32)
        self._models[name] = ScoredModel(float("nan") if score is None else float(score), drawn)

    def load(self, scores: Mapping[str, float] | None, resampled: Mapping[str, Tensor]) -> None:
        """Restore the candidates of a checkpoint from its evaluations; ``None`` if the checkpoint does not store them."""
        self.complete = scores is not None
        self._models.clear()
        for name, score in (scores or {}).items():
            self.add(name, {"score": score}, resampled[name].numpy() if name in resampled else None)

    def scores(self) -> dict[str, float] | None:
        return {name: model.score for name, model in self._models.items()} if self.complete else None

    def tensors(self) -> dict[str, Tensor]:
        """Return the bootstrap scores of each candidate, (resamples,) float32."""
        return {name: torch.from_numpy(model.resampled) for name, model in self._models.items() if len(model.resampled)}

    def select(self, name: str, scores: Mapping[str, Any], untuned: np.ndarray | None, *, besides: int = 0) -> dict[str, Any]:
        """Return the scores of the selected candidate, with ``gain_interval`` corrected for the selection.

        Args:
            scores: scores of the candidate; without a gain interval, none is added.
            untuned: bootstrap scores of the base model.
            besides: number of additional models that might have been selected, such as the base model.

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
    """Files ``marks/<name>.json`` and ``.npy`` of a member: scores, and bootstrap scores.

    Names are ``step-<n>`` for the weights after n steps, and ``strength-<s>`` for a blend of the final ones.
    """

    folder: Path

    def add(self, name: str, scores: Mapping[str, Any], resampled: np.ndarray | None) -> None:
        place = self.folder / _FOLDER
        if resampled is not None:
            with atomic_file(place / f"{name}.npy") as part:
                np.save(part, resampled, allow_pickle=False)
        write_json(place / f"{name}.json", dict(scores))

    def clear(self) -> None:
        shutil.rmtree(self.folder / _FOLDER, ignore_errors=True)

    @property
    def is_readable(self) -> bool:
        try:
            for path in (self.folder / _FOLDER).glob("*.json"):
                self.scores(path.stem)
                self.resampled(path.stem)
            self.untuned()
        except (OSError, ValueError, EOFError):
            return False
        return True

    def scores(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / _FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        return found

    def resampled(self, name: str) -> np.ndarray | None:
        """Return the bootstrap scores of an evaluation, (resamples,); ``None`` if the task has none."""
        path = self.folder / _FOLDER / f"{name}.npy"
        return np.load(path, allow_pickle=False) if path.is_file() else None

    def untuned(self) -> np.ndarray | None:
        path = self.folder / UNTUNED
        return np.load(path, allow_pickle=False) if path.is_file() else None

    def steps(self) -> list[int]:
        return sorted(int(path.stem.removeprefix("step-")) for path in (self.folder / _FOLDER).glob("step-*.json"))


_MIN_PER_LABEL = 2


class Evaluator:
    """Evaluates a model on held-out rows, in float32 and without dropout.

    Args:
        dev: held-out rows. Mined triplets are evaluated by retrieval of the positives: the model that mined the negatives, usually the base
            model, finds all of them less similar than the positives, so that no other model can be better on them.
        train_rows: training rows; labelled texts are evaluated by their nearest neighbors among them.
        folder: stores the bootstrap scores of the base model, so that a resumed run can report its gain.

    Attributes:
        seconds: mean duration of an evaluation.
        resampled: bootstrap scores of the last evaluation, if the task has them.
    """

    def __init__(self, dev: Examples, folder: Path | None = None, *, train_rows: Examples | None = None) -> None:
        self.dev = dev.as_pairs() if dev.mined else dev
        self.known = sample_reference(train_rows) if train_rows is not None and train_rows.kind == dev.kind == "labelled_texts" else None
        self._untuned = None if folder is None else folder / UNTUNED
        self._times: list[float] = []
        self.resampled: np.ndarray | None = None

    @property
    def seconds(self) -> float:
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

    def _gain(self, resampled: np.ndarray | None, untuned: bool) -> dict[str, Any]:
        if self._untuned is None or resampled is None:
            return {}
        if untuned:
            with atomic_file(self._untuned) as part:
                np.save(part, resampled, allow_pickle=False)
            return {}
        return paired_gain(self.untuned(), resampled)


def stratify_option(spec: TrainSpec) -> bool | None:
    """Return ``spec.stratify`` for the split; ``None`` means that the kind of examples decides."""
    return {"auto": None, "yes": True, "no": False}[spec.stratify]


def uninformative_reason(held: Examples) -> str:
    """Return the reason why models cannot be evaluated on these rows; empty if they can."""
    if not has_single_target(held):
        return ""
    assert held.targets is not None
    if not held.labels:
        return _("all {held} held-out rows have the same score, so models cannot be compared on them", held=f"{len(held):,}")
    return _(
        "all {held} held-out rows are labelled “{label}”, so models cannot be compared on them",
        held=f"{len(held):,}",
        label=held.labels[int(held.targets[0])],
    )


def weak_validation_warning(held: Examples | None) -> str:
    """Return a warning if the held-out rows are too few, overall or of one of two labels, to distinguish a gain from chance; else empty."""
    if held is not None and len(held) < MIN_CLUSTERS:
        return ngettext(
            "{n} held-out row: too few to tell a gain from chance", "{n} held-out rows: too few to tell a gain from chance", len(held)
        )
    rarer = rarer_label(held) if held is not None and held.ordered else None
    if held is None or rarer is None or rarer[1] > _MIN_PER_LABEL:
        return ""
    return ngettext(
        "only {n} of the {held} held-out rows is labelled “{rarer}”: too few to tell a gain from chance",
        "only {n} of the {held} held-out rows are labelled “{rarer}”: too few to tell a gain from chance",
        rarer[1],
        held=f"{len(held):,}",
        rarer=rarer[0],
    )


def rarer_label(held: Examples) -> tuple[str, int] | None:
    """Return the rarer of two pair labels and its number of rows; ``None`` for other kinds."""
    if held.kind != "labelled_pairs" or held.targets is None or len(held.labels) != 2:
        return None
    sizes = np.bincount(held.targets.astype(np.int64), minlength=2)
    return held.labels[int(sizes.argmin())], int(sizes.min())


def hold_out(spec: TrainSpec, examples: Examples, dev: Examples | None) -> tuple[Examples, Examples | None, str]:
    """Return training rows and held-out rows: ``dev``, or a part of ``examples`` that shares no text with the rest.

    Returns:
        Both parts, and the reason if there are no held-out rows (for example, if all have the same score or label).

    Raises:
        StudioError: a split by group is requested, but there are no groups.
    """
    if dev is not None and len(dev) and dev.kind in SCORED_KINDS:
        why = uninformative_reason(dev)
        return examples, None if why else dev, why
    if examples.kind not in SCORED_KINDS:
        return examples, None, "unlabelled sentences do not indicate how similar two of them are"
    if not spec.dev_fraction:
        return examples, None, "no rows are held out"
    if spec.by_group and not examples.groups:
        raise StudioError("a split by group was requested, but no column contains groups", "choose the group column")
    try:
        rest, held = split_examples(examples, spec.dev_fraction, spec.seed, groups=spec.by_group, stratify=stratify_option(spec))
    except StudioError as error:
        return examples, None, error.message
    if len(held) < 2 or not len(rest):
        return examples, None, _("{examples} rows are too few to hold any out", examples=len(examples))
    why = uninformative_reason(held)
    return (examples, None, why) if why else (rest, held, "")


PAIRS = ASSETS / "probe" / "general.csv"
# Minimum correlation for a language to count as supported, and minimum for the best language.
_KNOWN, _LEAST = 0.6, 0.2
_MODELS = 32  # base models whose similarities are cached, a few kilobytes each
_LOCK = Lock()
_CACHE: dict[tuple[str, str, Path], Sequence[np.ndarray]] = {}


@dataclass(frozen=True)
class _ProbeLanguage:
    language: str
    left: tuple[str, ...]
    right: tuple[str, ...]
    scores: np.ndarray

    def scored(self, encoder: Trainable) -> np.ndarray:
        return pair_similarities(encoder, self.left, self.right)


class GeneralProbe:
    """Correlation of a model on everyday pairs, in the languages that the base model supports, and perhaps its quality of retrieval.

    Attributes:
        untuned: ``{"score", "rows", "interval", "languages": {code: score}}`` of the base model: mean Spearman's ρ over languages with
            its 95 % bootstrap interval, if it supports any; and the scores of ``retrieval``, if it is measured.
    """

    def __init__(self, parts: Sequence[_ProbeLanguage], untuned: Sequence[np.ndarray], retrieval: RetrievalProbe | None = None) -> None:
        self._parts, self._retrieval = tuple(parts), retrieval
        self.untuned, self._resampled = self._summarize(untuned)
        if retrieval is not None:
            self.untuned["retrieval"] = retrieval.untuned

    @classmethod
    def build(cls, encoder: Trainable, retrieval: RetrievalSet | None = None) -> GeneralProbe | None:
        """Create the probe for a base model; ``None`` for a cross-encoder with a new head, or if there is nothing that it can measure.

        Args:
            retrieval: queries, documents and judgments that are not used for training, on which retrieval is evaluated as well.
        """
        if encoder.has_untrained_scores:
            return None
        found = list(zip(_load_pairs(), _base_similarities(encoder), strict=True)) if PAIRS.is_file() else []
        scores = [spearman(scored, part.scores) for part, scored in found]
        known = [both for both, score in zip(found, scores, strict=True) if score >= _KNOWN or score == max(scores) >= _LEAST]
        probe = RetrievalProbe(retrieval, encoder) if retrieval is not None and isinstance(encoder, Encoder) else None
        if not known and probe is None:
            return None
        return cls([part for part, _ in known], [scored for _, scored in known], probe)

    def __call__(self, encoder: Trainable) -> dict[str, Any]:
        """Return the scores of another encoder, with ``change_interval``: the 95 % interval of its change (paired bootstrap)."""
        found, resampled = self._summarize([part.scored(encoder) for part in self._parts])
        if self._parts:
            found["change_interval"] = percentile_interval(resampled - self._resampled)
        return found if self._retrieval is None else {**found, "retrieval": self._retrieval(cast("Encoder", encoder))}

    def _summarize(self, scored: Sequence[np.ndarray]) -> tuple[dict[str, Any], np.ndarray]:
        if not self._parts:
            return {}, np.empty(0)
        scores = {part.language: spearman(found, part.scores) for part, found in zip(self._parts, scored, strict=True)}
        # Languages have separate pairs, so their resamples may be combined in any order.
        resampled = np.mean([bootstrap_spearman(found, part.scores) for part, found in zip(self._parts, scored, strict=True)], axis=0)
        found = {
            "score": float(np.mean(list(scores.values()))),
            "rows": sum(len(part.scores) for part in self._parts),
            "interval": percentile_interval(resampled),
            "languages": scores,
        }
        return found, resampled


def _base_similarities(encoder: Trainable) -> Sequence[np.ndarray]:
    model = getattr(encoder, "fingerprint", None)
    if model is None:
        return [part.scored(encoder) for part in _load_pairs()]
    # A run may change a model's prompts without changing its weights.
    key = (model, encoder.prompt_for_role("symmetric") if isinstance(encoder, Encoder) else "", PAIRS)
    if (found := _CACHE.get(key)) is None:
        found = [part.scored(encoder) for part in _load_pairs()]
        with _LOCK:
            while len(_CACHE) >= _MODELS:
                _CACHE.pop(next(iter(_CACHE)))
            _CACHE[key] = found
    return found


@lru_cache(maxsize=1)
def _load_pairs() -> tuple[_ProbeLanguage, ...]:
    with PAIRS.open(encoding="utf-8", newline="") as source:
        rows = list(csv.DictReader(source))
    parts = []
    for language in dict.fromkeys(row["language"] for row in rows):
        own = [row for row in rows if row["language"] == language]
        scores = np.array([float(row["score"]) for row in own])
        parts.append(_ProbeLanguage(language, tuple(row["sentence1"] for row in own), tuple(row["sentence2"] for row in own), scores))
    return tuple(parts)
