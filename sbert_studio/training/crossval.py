"""Cross-validation of small datasets: every row is held out once, then a final model is trained on all rows.

Scores of folds are combined by means weighted by rows, and by a bootstrap within folds. Similarities of different models are never ranked
together, because their scales differ. Undefined scores and resamples (NaN) are ignored.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import StudioError
from ..evaluation.bootstrap import (
    MAX_UNDEFINED_SHARE,
    ScoredModel,
    count_clusters,
    paired_gain,
    percentile_interval,
    selected_model_gain,
    wilson_interval,
)
from ..evaluation.learning_curve import extrapolate
from ..evaluation.report import SHARE_METRICS
from ..evaluation.tasks.categories import merge_confusions
from ..i18n import _
from ..progress import StoppedError
from ..workspace import write_json
from .alarms import OPPOSITE, check_below_chance, is_accepted
from .artifacts import MISTAKES, find_mistakes, merge_mistakes, mistakes_file, read_mistakes
from .blend import MARKS, TIE, best_mark, blend_obstacle, cached_encoder, mark_summary, untuned_mark
from .checkpoints import report_full_disk
from .evaluator import EvaluationLog, Evaluator, GeneralProbe
from .events import Asks, Evaluated, Event, Finished, Notice, Part, PartEnded, Phase, Stopped
from .members import OUTCOME, PARTS, Load, Member, OverallProgress, plan_curve, planned_steps, usual_fold_count
from .prepare import apply_architecture
from .spec import TrainSpec, resolve_loss
from .steps import Processes
from .trainer import Assignment, RunNotes, TrainingOutcome, read_outcome, run_identity, train

if TYPE_CHECKING:
    from ..data.examples import Examples
    from ..models.trainable import Trainable

_OWN_KEYS = ("rows", "interval", "gain_interval", "general", "notes", "confused")
_MAX_UNDEFINED = 2 * MAX_UNDEFINED_SHARE  # a mean over folds with separate rows tolerates more


@dataclass(frozen=True)
class FoldScores:
    """Scores of one fold as returned by an :class:`~sbert_studio.training.evaluator.Evaluator`, with bootstrap scores.

    Attributes:
        apart: number of clusters of rows that share a text; 0 if unknown.
    """

    scores: Mapping[str, Any]
    resampled: np.ndarray | None
    apart: int = 0


def pool_folds(folds: Sequence[FoldScores], untuned: Sequence[np.ndarray | None] = ()) -> dict[str, Any]:
    """Combine the scores of folds: ``{"metric", "task", "rows", "score", "by_fold", "interval", ...}``.

    Args:
        folds: at least one with a defined score; ``by_fold`` is ``None`` for the others.
        untuned: bootstrap scores of the base model in each fold, for ``gain_interval``.
    """
    every = [_fold_score(one) for one in folds]
    places = np.flatnonzero(np.isfinite(every)).tolist()
    judged, before = [folds[place] for place in places], [untuned[place] for place in places] if untuned else []
    weights = np.array([one.scores["rows"] for one in judged], np.float64)
    weights /= weights.sum()
    found: dict[str, Any] = _weighted_mean([one.scores for one in judged], weights)
    found["rows"] = int(sum(one.scores["rows"] for one in judged))
    found["by_fold"] = [score if place in places else None for place, score in enumerate(every)]
    if any("confused" in one.scores for one in judged):
        found["confused"] = merge_confusions([one.scores.get("confused", ()) for one in judged])
    after = [one.resampled for one in judged]
    alone, both = _average_series([after], weights), _average_series([before, after], weights)
    if alone is not None:
        found["interval"] = _interval(found, alone[0], judged)
        found |= paired_gain(*both) if both is not None and _undefined_share(after, weights) <= _MAX_UNDEFINED else {}
    return found


def _interval(scores: Mapping[str, Any], drawn: np.ndarray, folds: Sequence[FoldScores]) -> list[float]:
    if scores.get("metric") in SHARE_METRICS and all(one.apart for one in folds):
        return wilson_interval(drawn, float(scores["score"]), sum(one.apart for one in folds))
    return percentile_interval(drawn)


def nested_evaluation(
    tried: Sequence[Sequence[FoldScores]], untuned: Sequence[np.ndarray | None] = (), *, or_untuned: bool = True
) -> dict[str, Any]:
    """Return scores and gain of a model selected among candidates, from rows that were not used for the selection.

    Each fold uses the candidate that is best on the other folds. Without the base model among the candidates, the gain expected by chance
    is subtracted if the 95 % interval of the gain includes zero. The lower bound is also at most that of the best candidate when the
    selection is repeated in each resample (:func:`selected_model_gain`), because folds select on nearly the same rows.

    Args:
        tried: the k folds of each candidate, the base model first if it may be kept. Folds need a score of every candidate.
        untuned: bootstrap scores of the base model in each fold.
        or_untuned: True if the base model may be kept; nothing is subtracted otherwise.

    Returns:
        As :func:`pool_folds`, with ``nested``, the score before the subtraction, and ``tried``, the number of candidates.
    """
    places = np.flatnonzero(np.isfinite([[_fold_score(one) for one in folds] for folds in tried]).all(axis=0)).tolist()
    tried = [[folds[place] for place in places] for folds in tried]
    untuned = [untuned[place] for place in places] if untuned else []
    rows = [one.scores["rows"] for one in tried[0]]
    scores = np.array([[_fold_score(one) for one in folds] for folds in tried])
    found = pool_folds([tried[place][fold] for fold, place in enumerate(_choose_by_other_folds(scores, rows).tolist())], untuned)
    found |= {"nested": found["score"], "tried": len(tried)}
    low, high = found.get("gain_interval") or (-np.inf, np.inf)
    if or_untuned and low <= 0 <= high:
        before = float(np.average(scores[0], weights=rows))
        found["score"] = max(found["score"] - _chance_gain(tried, rows), before + low)
    if "gain_interval" in found:
        chosen = _best_gain(tried[1:] if or_untuned else tried, untuned, rows).get("gain_interval", [low])
        found["gain_interval"] = [min(low, chosen[0]), high]
    return found


def _best_gain(tried: Sequence[Sequence[FoldScores]], untuned: Sequence[np.ndarray | None], rows: Sequence[int]) -> dict[str, Any]:
    weights = np.asarray(rows, np.float64) / sum(rows)
    series = _average_series([untuned, *([one.resampled for one in folds] for folds in tried)], weights)
    if series is None:
        return {}
    scores = np.array([[_fold_score(one) for one in folds] for folds in tried]) @ weights
    models = [ScoredModel(float(score), drawn) for score, drawn in zip(scores, series[1:], strict=True)]
    best = models.pop(int(scores.argmax()))
    return selected_model_gain(series[0], best, models)


def _choose_by_other_folds(scores: np.ndarray, rows: Sequence[int]) -> np.ndarray:
    weights = np.asarray(rows, np.float64)
    return np.asarray(((scores @ weights)[:, None] - scores * weights).argmax(axis=0))


def _chance_gain(tried: Sequence[Sequence[FoldScores]], rows: Sequence[int]) -> float:
    drawn = [one.resampled for folds in tried for one in folds if one.resampled is not None]
    if len(drawn) < len(tried) * len(rows) or len({len(one) for one in drawn}) > 1:
        return 0.0
    gains = np.array(drawn, np.float64).reshape(len(tried), len(rows), -1)
    gains -= gains[0]
    for fold in range(len(rows)):  # any resample of one fold can be combined with any of another, as in the mean over the folds
        order = _order(gains[:, fold], fold)
        if not len(order):
            return 0.0
        gains[:, fold] = gains[:, fold, order]
    gains -= gains.mean(axis=2, keepdims=True)
    weights = np.asarray(rows, np.float64) / sum(rows)
    sums = np.einsum("ckr,k->cr", gains, weights)
    others = sums[:, None] - gains * weights[:, None]
    claimed = np.einsum("kr,k->r", np.take_along_axis(gains, others.argmax(axis=0)[None], axis=0)[0], weights)
    kept = sums.argmax(axis=0) > 0
    return float(claimed[kept].mean()) if kept.any() else 0.0


def _average_series(series: Sequence[Sequence[np.ndarray | None]], weights: np.ndarray) -> list[np.ndarray] | None:
    folds = [one for every in series for one in every if one is not None and len(one)]
    if len(folds) < len(weights) * len(series) or len({len(one) for one in folds}) > 1:
        return None
    values = np.array(folds, np.float64).reshape(len(series), len(weights), -1)
    for fold in range(len(weights)):
        order = _order(values[:, fold], fold)
        if not len(order):
            return None
        values[:, fold] = values[:, fold, order]
    return [np.asarray(np.average(one, axis=0, weights=weights)) for one in values]


def _order(scores: np.ndarray, fold: int) -> np.ndarray:
    order = np.random.default_rng(fold).permutation(scores.shape[1])
    order = order[np.isfinite(scores[:, order]).all(axis=0)]
    return np.resize(order, scores.shape[1]) if len(order) else order


def _undefined_share(folds: Sequence[np.ndarray | None], weights: np.ndarray) -> float:
    return float(np.average([0.0 if one is None else np.isnan(one).mean() for one in folds], weights=weights))


def _fold_score(one: FoldScores) -> float:
    score = one.scores.get("score")
    return float("nan") if score is None else float(score)


def _weighted_mean(scores: Sequence[Mapping[str, Any]], weights: np.ndarray) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in scores[0].items():
        every = [one.get(name) for one in scores]
        if name in _OWN_KEYS:
            continue
        if isinstance(value, Mapping) and all(isinstance(one, Mapping) for one in every):
            found[name] = _weighted_mean(every, weights)  # type: ignore[arg-type]
        elif isinstance(value, int | float) and not isinstance(value, bool) and all(isinstance(one, int | float) for one in every):
            known = np.isfinite(np.asarray(every, np.float64))
            if known.any():
                found[name] = float(np.average(np.asarray(every, np.float64)[known], weights=weights[known]))
        elif isinstance(value, str):
            found[name] = value
    return found


class MemberTrainer:
    """Trains the members of a run one after another, and reports the progress of the whole run.

    Args:
        steps: planned steps of each member.

    Attributes:
        outcomes: outcomes so far.
        main: True in the main process.
    """

    def __init__(
        self, load: Load, emit: Callable[[Event], None], should_stop: Callable[[], bool], steps: Sequence[int], notes: RunNotes
    ) -> None:
        self.load, self.should_stop, self.pins, self.retrieval = load, should_stop, notes.pins, notes.retrieval
        self._progress, self.parts = OverallProgress(emit, steps), len(steps)
        self.outcomes: list[TrainingOutcome] = []
        self.main = True

    def emit(self, event: Event) -> None:
        if self.main:
            self._progress(event)

    def train_member(self, member: Member, folder: Path, source: Path | None, assignment: Assignment) -> TrainingOutcome:
        encoder = self.load(member.spec, member.train_rows, source)
        self.main = Processes(encoder.device).main
        outcome = train(
            member.spec,
            member.train_rows,
            lambda event: None if isinstance(event, Finished | Stopped | Asks) else self._progress(event),
            self.should_stop,
            encoder=encoder,
            folder=folder,
            dev=member.held,
            resume=True,
            assignment=replace(assignment, notes=replace(assignment.notes, pins=self.pins, retrieval=self.retrieval)),
        )
        self.outcomes.append(outcome)
        if outcome.status == "finished":
            self.emit(PartEnded(len(self.outcomes), self.parts, member.title, outcome.before, outcome.after))
        return outcome


def cross_validate(
    spec: TrainSpec,
    examples: Examples,
    folds: Sequence[Member],
    emit: Callable[[Event], None],
    should_stop: Callable[[], bool],
    *,
    load: Load,
    folder: Path,
    notes: RunNotes,
) -> TrainingOutcome:
    """Evaluate on ``folds``, then train on all rows for the best share of the steps and keep the best blend.

    In addition to the scores of a single member, ``after`` has ``folds``, ``by_fold`` (score of each fold), ``tried`` (number of
    candidates), ``nested`` (score with the candidate for each fold selected on the other folds, which is reported for a fine-tuned
    model) and ``learning_curve`` (a :class:`~sbert_studio.evaluation.learning_curve.LearningCurve`), for which the first fold is also
    trained on a quarter and half of its rows.

    Raises:
        StudioError: see :func:`~sbert_studio.training.trainer.train`.
    """
    identity = run_identity(spec, examples)
    if (ended := read_outcome(folder, identity, OUTCOME)) is not None:
        shutil.rmtree(folder / PARTS, ignore_errors=True)
        emit(ended.event())
        return ended
    steps = [*(planned_steps(one.spec, one.train_rows) for one in (*folds, *plan_curve(folds))), planned_steps(spec, examples)]
    trainer = MemberTrainer(load, emit, should_stop, steps, notes)
    return _CrossValidation(resolve_loss(spec, examples), folds, trainer, folder).execute(examples, identity, notes.reasons)


class _CrossValidation:
    def __init__(self, spec: TrainSpec, folds: Sequence[Member], trainer: MemberTrainer, folder: Path) -> None:
        self.spec, self.folds, self.trainer, self.folder, self.emit = spec, folds, trainer, folder, trainer.emit
        self.blends = not blend_obstacle(spec)
        self.curve: list[Member] = []  # trained parts of the first fold
        self.began = time.perf_counter()
        self.earlier = 0.0  # seconds spent on members before the run was resumed

    def execute(self, examples: Examples, identity: str, reasons: Sequence[str]) -> TrainingOutcome:
        self.emit(Phase("evaluating the base model"))
        untuned = self.trainer.load(self.spec, examples, None)
        self.trainer.main = Processes(untuned.device).main
        apply_architecture(self.spec, untuned)
        general = GeneralProbe.build(untuned, self.trainer.retrieval)
        held = [fold.held for fold in self.folds if fold.held is not None]
        scores = self._evaluate_untuned(untuned, held)
        self.apart = [count_clusters(*part.texts) for part in held]
        before = pool_folds(self._candidate(scores, [EvaluationLog(self._place(fold)).untuned() for fold in self.folds]))
        if general is not None:
            before["general"] = general.untuned
        self.emit(Evaluated(0, before["metric"], before["score"], before, False))
        if not is_accepted(self.spec, OPPOSITE) and (question := check_below_chance(untuned, held, scores)) is not None:
            return self._end(self._outcome("asks", before, question=question.to_json()))
        del untuned
        reasons = (*reasons, *_reasons(self.spec, len(examples), len(self.folds)))
        for place, (fold, known) in enumerate(zip(self.folds, scores, strict=True)):
            given = Assignment(known, general=None, judges=True)
            if place == 0:
                # One fold is enough to detect a collapse of the general probe: the others train on nearly the same rows.
                watched = {"general": general.untuned} if general is not None else {}
                given = Assignment({**known, **watched}, general=general, judges=True, notes=RunNotes(tuple(reasons)))
            outcome = self._train(fold, self._place(fold), given)
            if outcome.status == "stopped":
                self.emit(Notice("stopped during cross-validation: there is no model yet; resume the run to continue", passing=True))
            if outcome.status != "finished":
                return self._end(self._outcome(outcome.status, before, question=outcome.question))
        if self._train_curve(scores[0]) == "stopped":
            return self._end(self._outcome("stopped", before))
        self.emit(Phase("comparing the folds"))
        after, share = self._choose(before, scores)
        after |= self._learning_curve(len(examples))
        self._keep_mistakes(after)
        if "gain_interval" not in after and "interval" in after:
            self.emit(Notice("one label is too rare in the folds to distinguish a gain from chance"))
        self.emit(Evaluated(self.trainer.outcomes[-1].steps, after["metric"], after["score"], after, True))
        whole = Member("all rows", self.spec.replace(dev_fraction=0), examples, None)
        outcome = self._train(whole, self.folder, Assignment(general=general, verdict=(before, after), share=share))
        found = self._outcome(outcome.status, outcome.before, outcome.after, adapter=outcome.adapter, question=outcome.question)
        if self.trainer.main and outcome.status == "finished":
            with report_full_disk("the outcome", self.folder):
                write_json(self.folder / OUTCOME, {"identity": identity, **found.to_json()})
            shutil.rmtree(self.folder / PARTS, ignore_errors=True)
        return self._end(found)

    def _train_curve(self, untuned: Mapping[str, Any]) -> str:
        """Train the first fold on parts of its rows; return the status of the last training."""
        for member in plan_curve(self.folds):
            try:
                outcome = self._train(member, self._place(member), Assignment(untuned, general=None, judges=True))
            except StoppedError:
                raise
            except StudioError as error:
                self.emit(Notice(_("the learning curve was not measured: {message}", message=error.message)))
                return "failed"
            if outcome.status != "finished":
                return outcome.status
            self.curve.append(member)
        return "finished"

    def _learning_curve(self, total: int) -> dict[str, Any]:
        """Return the learning curve as an entry of the scores: of each size, the best of the base model, blends and fine-tuned model."""
        members = [*self.curve, self.folds[0]]
        best = []
        for member in members:
            folder = EvaluationLog(self._place(member))
            names = [f"step-{folder.steps()[-1]}", *(f"strength-{mark}" for mark in (MARKS[1:-1] if self.blends else ()))]
            tried = [(folder.scores(name).get("score"), folder.resampled(name)) for name in names]
            known = [(score, drawn) for score, drawn in tried if score is not None and drawn is not None]
            if not known:
                return {}
            best.append(max(known, key=lambda one: one[0]))
        scores, drawn = zip(*best, strict=True)
        curve = extrapolate([len(member.train_rows) for member in members], scores, drawn, total=total) if self.curve else None
        return {} if curve is None else {"learning_curve": curve.to_json()}

    def _evaluate_untuned(self, untuned: Trainable, held: Sequence[Examples]) -> list[dict[str, Any]]:
        model, scores = cached_encoder(untuned), []  # the folds share most of their texts
        for fold, part in zip(self.folds, held, strict=True):
            evaluator = Evaluator(part, self._place(fold), train_rows=fold.train_rows)
            scores.append(evaluator(model, untuned=True))
            if self.trainer.main and self.blends:
                write_json(self._place(fold) / mistakes_file(0.0), find_mistakes(model, evaluator.dev, evaluator.known, 0.0))
        return scores

    def _keep_mistakes(self, after: Mapping[str, Any]) -> None:
        name = mistakes_file(float(after.get("strength", 1.0)))
        found = merge_mistakes([read_mistakes(self._place(fold) / name) for fold in self.folds])
        if found is not None and self.trainer.main:
            write_json(self.folder / MISTAKES, found)

    def _candidate(self, scores: Sequence[Mapping[str, Any]], resampled: Sequence[np.ndarray | None]) -> list[FoldScores]:
        return [FoldScores(*one) for one in zip(scores, resampled, self.apart, strict=True)]

    def _choose(self, before: Mapping[str, Any], untuned_scores: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], float]:
        logs = [EvaluationLog(self._place(fold)) for fold in self.folds]
        untuned = [log.untuned() for log in logs]
        steps = [log.steps() for log in logs]
        tried = [self._candidate(untuned_scores, untuned)]

        def pooled(names: Sequence[str], strength: float) -> dict[str, Any]:
            named = list(zip(logs, names, strict=True))
            tried.append(self._candidate([log.scores(name) for log, name in named], [log.resampled(name) for log, name in named]))
            return pool_folds(tried[-1], untuned) | {"strength": strength}

        marks = [pooled([f"step-{own[-1]}" for own in steps], 1.0)]
        if self.blends:
            between = [pooled([f"strength-{strength}"] * len(logs), strength) for strength in MARKS[1:-1]]
            marks = [untuned_mark(before), *between, *marks]
        kept, share = best_mark(marks), 1.0
        for place in range(min(map(len, steps)) - 1):
            early = pooled([f"step-{own[place]}" for own in steps], 1.0)
            if early["score"] > kept["score"] + TIE:
                share = steps[0][place] / steps[0][-1]
                marks = [marks[0], early] if len(marks) > 1 else [early]
                kept = early
        nested = nested_evaluation(tried if self.blends else tried[1:], untuned, or_untuned=self.blends)
        if self.blends and nested["score"] <= before["score"]:  # better only on the rows it was selected on
            kept, share = marks[0], 1.0
        reported = {name: nested[name] for name in ("nested", "tried")} if kept["strength"] == 0 else nested
        return {**kept, **reported, "strengths": [mark_summary(mark) for mark in marks], "folds": len(self.folds)}, share

    def _train(self, member: Member, folder: Path, assignment: Assignment) -> TrainingOutcome:
        self.emit(Part(len(self.trainer.outcomes) + 1, self.trainer.parts, member.title))
        self.emit(Phase("loading the model"))
        began = time.perf_counter()
        outcome = self.trainer.train_member(member, folder, None, assignment)
        self.earlier += max(0.0, outcome.seconds - (time.perf_counter() - began))
        return outcome

    def _outcome(
        self,
        status: str,
        before: Mapping[str, Any],
        after: Mapping[str, Any] = MappingProxyType({}),
        *,
        adapter: Path | None = None,
        question: Mapping[str, Any] = MappingProxyType({}),
    ) -> TrainingOutcome:
        # Also count loading and evaluation between members.
        seconds = self.earlier + time.perf_counter() - self.began
        outcome = TrainingOutcome(status, self.folder / "model", adapter, before, dict(after), 0, 0.0, 0.0, dict(question))
        return replace(outcome.with_totals(self.trainer.outcomes), seconds=seconds)

    def _end(self, outcome: TrainingOutcome) -> TrainingOutcome:
        self.emit(outcome.event())
        return outcome

    def _place(self, fold: Member) -> Path:
        return self.folder / PARTS / fold.name


def _reasons(spec: TrainSpec, rows: int, folds: int) -> list[str]:
    found = [
        _(
            "Cross-validated in {folds} folds: each of the {rows} rows is held out once, and the final model is trained on all of them.",
            folds=folds,
            rows=f"{rows:,}",
        )
    ]
    if folds < usual_fold_count(spec, rows):
        found.append("Fewer folds than usual are used, so that each contains rows of both labels.")
    return found
