"""Weight averaging (model soups, Wortsman et al. 2022): blends of base and fine-tuned weights, their selection, and the strength."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from ..caches import release_mapped_pages
from ..errors import StudioError
from ..evaluation.encoding import CachingEncoder
from ..evaluation.report import RETRIEVAL, describe_retrieval_change
from ..i18n import _
from ..models.base import Encoder
from ..models.quantized import restore_trained_rows
from ..models.trainable import Trainable
from ..workspace import write_json
from .artifacts import MISTAKES, find_mistakes, mistakes_file, write_model
from .checkpoints import Checkpoints, TrainingState, read_tensors, report_full_disk
from .events import Notice
from .prepare import add_adapter, apply_architecture
from .spec import TrainSpec

if TYPE_CHECKING:
    from .evaluator import Candidates, GeneralProbe
    from .steps import TrainingParts
    from .trainer import Assignment

MARKS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The evaluated strengths: 0 is the base model, 1 the fine-tuned model."""
TIE = 1e-4
"""Maximum difference of scores that count as equal."""
_UP, _DOWN = "lora_B", "lora_A"
_OUTCOMES = ("course.json", "outcome.json")


class WeightBlend:
    """Interpolation between the base weights and the fine-tuned weights of trainable parameters.

    For LoRA, the matrix initialized with zeros is scaled, which equals interpolating the merged weights.

    Args:
        learning: trainable parameters of the encoder, by name.
        untuned: base weights, if they are not the current values of ``learning``.
        keep_mapped: keep the base weights memory-mapped and copy the CPU parameters, so that base weights use no memory until needed.
    """

    def __init__(
        self, learning: Mapping[str, nn.Parameter], untuned: Mapping[str, Tensor] | None = None, *, keep_mapped: bool = False
    ) -> None:
        self._learning = dict(learning)
        source: Mapping[str, Tensor] = learning if untuned is None else untuned
        self._untuned = {
            name: source[name].detach().to("cpu", copy=not keep_mapped) for name in learning if _UP not in name and _DOWN not in name
        }
        self._files: dict[Path, tuple[int, int, int]] = {}
        if keep_mapped:
            before = [parameter.data for parameter in self._learning.values()]
            for parameter in self._learning.values():
                parameter.data = parameter.data.clone()
            for path in release_mapped_pages([tensor.data_ptr() for tensor in before]):
                with suppress(OSError):
                    self._files[path] = _map_file(path)
        self._tuned: dict[str, Tensor] = {}

    def set_tuned(self, tuned: Mapping[str, Tensor] | None = None) -> None:
        """Set the fine-tuned weights to ``tuned``, or to the current weights.

        Raises:
            StudioError: the file of the memory-mapped base weights has changed.
        """
        for path, known in self._files.items():
            with suppress(OSError):  # removed or replaced: the mapped content stays valid
                now = _map_file(path)
                if now[0] == known[0] and now != known:
                    raise StudioError(
                        f"{path.parent.name}/{path.name} was written to while a model was tuned from it",
                        "restore it, and resume",
                    )
        source: Mapping[str, Tensor] = self._learning if tuned is None else tuned
        self._tuned = {name: source[name].detach().to("cpu", copy=True) for name in self._learning}

    def apply(self, strength: float) -> None:
        """Set the parameters to the blend of ``strength``, from 0 (base) to 1 (fine-tuned, bit-identical)."""
        with torch.no_grad():
            for name, parameter in self._learning.items():
                tuned = self._tuned[name]
                if _DOWN in name:
                    parameter.copy_(tuned)
                elif _UP in name:
                    parameter.copy_(tuned * strength)
                else:
                    parameter.copy_(torch.lerp(self._untuned[name], tuned, strength))


def _map_file(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


def blend_obstacle(spec: TrainSpec) -> str:
    """Return the reason why the model of this spec cannot be interpolated with its base model; empty if it can."""
    if not spec.blend:
        return "the blend was disabled"
    if spec.architecture == "cross":
        return "the head of a cross-encoder is new"
    if spec.projection or spec.first.get("projection"):
        return "the projection is new"
    if spec.recurrent or spec.first.get("recurrent"):
        return "the recurrent network is new"
    if spec.first and spec.method == "lora":
        return "the adapter of the last stage builds on the weights of the first"
    return ""


def strength_obstacle(spec: TrainSpec) -> str:
    """Return the reason why the strength of a run with this spec cannot be changed; empty if it can."""
    return blend_obstacle(spec.replace(blend=True))


def best_mark(marks: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the mark with the best score; among those within 0.0001 of it, the one that changes the model least.

    Marks that find fewer of the right documents than the base model, beyond chance, are left out if retrieval is measured.
    """
    allowed = [mark for mark in marks if not loses_retrieval(mark)] or marks
    most = max(mark["score"] for mark in allowed)
    return next(mark for mark in allowed if mark["score"] >= most - TIE)


def loses_retrieval(mark: Mapping[str, Any]) -> bool:
    """Return True if retrieval was measured and is worse than that of the base model beyond chance."""
    general = mark.get("general")
    found = general.get("retrieval") if isinstance(general, Mapping) else None
    low_high = found.get("change_interval") if found else None
    return bool(low_high and low_high[1] is not None and low_high[1] < 0)


def untuned_mark(before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scores of the base model as a mark of strength 0."""
    general = {"general": _unchanged(before["general"])} if before.get("general") else {}
    return {**before, **general, "gain_interval": [0.0, 0.0], "strength": 0.0}


def _unchanged(general: Mapping[str, Any]) -> dict[str, Any]:
    """Return the base model's scores of the general probe and of retrieval with the interval of their change."""
    found = {**general, **({"change_interval": [0.0, 0.0]} if "score" in general else {})}
    return found | ({"retrieval": {**found["retrieval"], "change_interval": [0.0, 0.0]}} if "retrieval" in found else {})


def mark_summary(mark: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a mark that are shown with the strength slider."""
    found = {name: mark[name] for name in ("strength", "score", "interval", "gain_interval") if name in mark}
    return found | _general_summary(mark["general"]) if mark.get("general") else found


def _general_summary(general: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scores of the general probe and of retrieval in a mark's summary."""
    measured = {"general": general.get("score"), "retrieval": (general.get("retrieval") or {}).get("score")}
    return {name: score for name, score in measured.items() if score is not None}


_SUM, _START, _OF_ENCODER = "sum/", "start/", "encoder."


class ModelSoup:
    """Weight averaging over the rounds of a training run (model soup); the weights of single rounds are not stored.

    Args:
        learning: trainable parameters by name, with the initial weights of each round.
        ends: number of steps after which each round ends.
    """

    def __init__(self, learning: Mapping[str, nn.Parameter], ends: Sequence[int]) -> None:
        self._learning, self._ends = learning, list(ends) if len(ends) > 1 else []
        self._start = {name: item.detach().clone() for name, item in learning.items()} if self._ends else {}
        self._sum: dict[str, Tensor] = {}

    def begins(self, step: int) -> bool:
        """Return True if a later round begins at ``step``; the parameters are then reset."""
        if step not in self._ends:
            return False
        self._put(self._start)
        return True

    def ended(self, steps: int) -> None:
        """If a round ends after ``steps`` steps, set the parameters to the mean over all finished rounds."""
        if steps not in self._ends:
            return
        for name, item in self._learning.items():
            self._sum[name] = item.detach() + self._sum[name] if name in self._sum else item.detach().clone()
        over = self._ends.index(steps) + 1
        self._put({name: total / over for name, total in self._sum.items()})

    def is_mean(self, steps: int) -> bool:
        """Return True if the parameters after ``steps`` steps are a mean of several rounds."""
        return steps in self._ends[1:]

    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors to checkpoint: the running sum, and initial heads (the initial encoder is known)."""
        heads = {name: value for name, value in self._start.items() if not name.startswith(_OF_ENCODER)}
        return {_SUM + name: value for name, value in self._sum.items()} | {_START + name: value for name, value in heads.items()}

    def load(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Restore :meth:`tensors`, and return the tensors that are not part of the soup."""
        rest = {}
        for path, value in tensors.items():
            for prefix, own in ((_SUM, self._sum), (_START, self._start)):
                if path.startswith(prefix):
                    name = path.removeprefix(prefix)
                    own[name] = value.to(self._learning[name].device)
                    break
            else:
                rest[path] = value
        return rest

    def _put(self, weights: Mapping[str, Tensor]) -> None:
        with torch.no_grad():
            for name, item in self._learning.items():
                item.copy_(weights[name])


def choose_blend(
    parts: TrainingParts, state: TrainingState, blend: WeightBlend, assignment: Assignment, status: str, candidates: Candidates
) -> TrainingState:
    """Set the encoder to the weights to keep, and the state to their scores.

    These are the blend with the best held-out score that does not lose retrieval, or the one chosen by the assignment. A stopped run keeps
    the better of the base and the fine-tuned model without further evaluation.

    Args:
        blend: has the base and the best fine-tuned weights.
        candidates: evaluations during training, to which the blends are added.
    """
    if assignment.verdict is not None:
        before, after = assignment.verdict
        if status == "stopped":
            _report_unmeasured(parts, state)
            blend.apply(after.get("strength", 1.0))
            return replace(state, before=before, after=dict(after))
        return replace(state, before=before, after=_with_general_scores(parts, blend, after))
    evaluator, general = parts.evaluator, parts.general
    if evaluator is None or not state.after:
        return _end_without_scores(parts, state, blend, assignment, status)
    if not assignment.blends:
        return state
    if why := blend_obstacle(parts.spec):
        if state.after["score"] <= state.before["score"]:
            parts.emit_event(
                Notice(_("the fine-tuned model is no better than the base model on the held-out rows, but is kept: {why}", why=why))
            )
        return state

    def evaluate(strength: float) -> dict[str, Any]:
        blend.apply(strength)
        scores = evaluator(parts.encoder)
        candidates.add(f"strength-{strength}", scores, evaluator.resampled)
        return scores | ({"general": general(parts.encoder)} if general is not None else {}) | {"strength": strength}

    untuned, tuned = untuned_mark(state.before), {**state.after, "strength": 1.0}
    if status == "stopped":
        marks = [untuned, tuned]
        after = dict(best_mark(marks))
    else:
        marks = [untuned, *(evaluate(strength) for strength in MARKS[1:-1]), tuned]
        after = {**best_mark(marks), "strengths": [mark_summary(mark) for mark in marks]}
    if any(loses_retrieval(mark) and mark["score"] > after["score"] for mark in marks):
        after["limited_by"] = RETRIEVAL
    strength = after["strength"]
    blend.apply(strength)
    name = f"step-{state.best}" if strength == 1.0 else f"strength-{strength}"
    after = candidates.select(name, after, evaluator.untuned(), besides=1)
    if "gain_interval" in after and "strengths" in after:
        corrected = {"gain_interval": after["gain_interval"]}
        after["strengths"] = [{**mark, **corrected} if mark["strength"] == strength else mark for mark in after["strengths"]]
    return replace(state, after=after)


def _end_without_scores(
    parts: TrainingParts, state: TrainingState, blend: WeightBlend, assignment: Assignment, status: str
) -> TrainingState:
    """Report what the general probe and retrieval measure where no rows are held out, and keep no strength that loses retrieval."""
    general = parts.general
    if general is None:
        return state
    if status == "stopped":
        _report_unmeasured(parts, state)
        return state
    found = general(parts.encoder)
    if parts.evaluator is None and "retrieval" in general.untuned:
        found = _keep_retrieval(parts, blend, assignment, general, found)
        parts.emit_event(Notice(describe_retrieval_change({"general": general.untuned}, {"general": found})))
    if "score" in general.untuned:
        before, after = (f"{scores['score']:.3f}" for scores in (general.untuned, found))
        parts.emit_event(Notice(_("on everyday pairs the model changed from {score} to {found} (Spearman)", score=before, found=after)))
    return state


def _keep_retrieval(
    parts: TrainingParts, blend: WeightBlend, assignment: Assignment, general: GeneralProbe, tuned: dict[str, Any]
) -> dict[str, Any]:
    """Set the encoder to the largest strength that does not lose retrieval beyond chance; return its general scores."""
    if not loses_retrieval({"general": tuned}):
        return tuned
    if obstacle := blend_obstacle(parts.spec) or ("" if assignment.blends else "the blend was disabled"):
        words = _("the fine-tuned model finds fewer of the right documents than the base model, but is kept: {why}", why=obstacle)
        parts.emit_event(Notice(words))
        return tuned
    strength, found = 0.0, _unchanged(general.untuned)
    for mark in MARKS[-2:0:-1]:
        blend.apply(mark)
        measured = general(parts.encoder)
        if not loses_retrieval({"general": measured}):
            strength, found = mark, measured
            break
    blend.apply(strength)
    words = _("the fine-tuned model finds fewer of the right documents, so strength {strength} is kept", strength=f"{strength:g}")
    parts.emit_event(Notice(words if strength else "the base model is kept: the fine-tuned model finds fewer of the right documents"))
    return found


def _report_unmeasured(parts: TrainingParts, state: TrainingState) -> None:
    """Report that a stopped run kept its model without a measurement of retrieval."""
    if state.step and parts.general is not None and "retrieval" in parts.general.untuned:
        parts.emit_event(Notice("the run was stopped, so retrieval was not measured: this model may find fewer of the right documents"))


def record_blends(parts: TrainingParts, blend: WeightBlend) -> None:
    """Evaluate the blends of an evaluation-only member, and record scores and largest errors."""
    if parts.evaluator is None or parts.marks is None:
        return
    for strength in MARKS[-1:] if blend_obstacle(parts.spec) else MARKS:
        name = mistakes_file(strength)
        if strength == 0 and (parts.folder / name).is_file():  # written when the base model was evaluated
            continue
        blend.apply(strength)
        model = cached_encoder(parts.encoder)
        if 0 < strength < 1:
            parts.marks.add(f"strength-{strength}", parts.evaluator(model), parts.evaluator.resampled)
        save_mistakes(parts, strength, name, model)


def cached_encoder(model: Trainable) -> Trainable:
    """Return the model with a cache of its vectors, for several evaluations of the same weights; pair scorers have no vectors."""
    return cast("Trainable", CachingEncoder(model)) if isinstance(model, Encoder) else model


def save_mistakes(parts: TrainingParts, strength: float, name: str = MISTAKES, model: Trainable | None = None) -> None:
    """Write the largest errors of the current model (by default ``parts.encoder``) on the held-out rows."""
    if parts.evaluator is not None and parts.processes.main:
        found = find_mistakes(model or parts.encoder, parts.evaluator.dev, parts.evaluator.known, strength)
        write_json(parts.folder / name, found)


def _with_general_scores(parts: TrainingParts, blend: WeightBlend, after: Any) -> dict[str, Any]:
    found = {**after}
    if parts.general is not None:
        strengths = [{**mark} for mark in after.get("strengths", ())] or [{"strength": 1.0}]
        measured: list[dict[str, Any]] = []
        for mark in strengths:
            blend.apply(mark["strength"])
            same = _unchanged(parts.general.untuned)
            measured.append({**mark, "general": parts.general(parts.encoder) if mark["strength"] else same})
            mark.update(_general_summary(measured[-1]["general"]))
        kept: Mapping[str, Any] | None = next((mark for mark in measured if mark["strength"] == after.get("strength", 1.0)), None)
        if kept is not None and loses_retrieval(kept) and "strengths" in after:
            kept = best_mark(measured)
            found |= {name: kept[name] for name in ("strength", "score", "interval", "gain_interval") if name in kept}
            found["limited_by"] = RETRIEVAL
            strength = f"{kept['strength']:g}"
            words = _("strength {strength} is kept: the model of the best score finds fewer of the right documents", strength=strength)
            parts.emit_event(Notice(words))
        if kept is not None:
            found["general"] = kept["general"]
        if "strengths" in after:
            found["strengths"] = strengths
    blend.apply(found.get("strength", 1.0))
    return found


def set_strength(folder: Path, spec: TrainSpec, value: float, *, load: Callable[[], Trainable]) -> dict[str, Any]:
    """Write ``model/`` (and ``adapter/``) of a finished run with another blend of base and fine-tuned weights.

    Each folder is replaced atomically together with its card, and the stored outcome is updated.

    Args:
        folder: run folder.
        spec: spec of the run.
        value: 0 (base) to 1 (fine-tuned).
        load: returns a fresh copy of the base model.

    Returns:
        The new ``after`` scores with ``strength``. Between two evaluated marks, ``score`` and ``general`` are interpolated and
        ``interpolated`` is True.

    Raises:
        StudioError: the strength is out of range, the run is not finished, or the model cannot be interpolated.
    """
    outcome_file = next((folder / name for name in _OUTCOMES if (folder / name).is_file()), None)
    tuned = Checkpoints(folder).newest()
    if outcome_file is None or tuned is None:
        raise StudioError("the run is not finished, or its fine-tuned weights were deleted", "choose a finished run")
    if why := strength_obstacle(spec):
        raise StudioError(_("the strength of this run cannot be set: {why}", why=why), "train again with other settings")
    if not 0 <= value <= 1:
        raise StudioError(
            _("the strength {value} is out of range", value=f"{value:g}"), "choose a value from 0 (base model) to 1 (fine-tuned)"
        )
    outcome = json.loads(outcome_file.read_text(encoding="utf-8"))
    encoder = load()
    base = encoder.base or spec.model
    apply_architecture(spec, encoder)
    add_adapter(spec, encoder)
    stored = read_tensors(tuned, weights_only=True).encoder
    restore_trained_rows(encoder, stored)
    learning = {name: parameter for name, parameter in encoder.named_parameters() if parameter.requires_grad}
    blend = WeightBlend(learning)
    blend.set_tuned(stored)
    blend.apply(value)
    encoder.eval()
    after = scores_at_strength(outcome["before"], outcome["after"], value)
    with report_full_disk("the model", folder):
        write_model(spec, encoder, folder, base, outcome["before"], after, int(outcome["steps"]))
    write_json(outcome_file, outcome | {"after": after})
    return after


def scores_at_strength(before: Mapping[str, Any], after: Mapping[str, Any], value: float) -> dict[str, Any]:
    """Return the scores at a strength; see :func:`set_strength`. Without marks, only the strength is known.

    The original result is kept in ``chosen``. Other strengths have no gain interval, because they are chosen with knowledge of the scores
    on these rows.
    """
    if "kept" in after:  # with several members, the one whose model was kept
        return {**after, "strength": value, "kept": scores_at_strength(before, after["kept"], value)}
    marks = list(after.get("strengths", ()))
    ended = dict(after.get("chosen") or {name: figure for name, figure in after.items() if name != "strengths"})
    if "strength" in ended and abs(ended["strength"] - value) < 1e-9:
        return ended | ({"strengths": marks} if marks else {})
    always = ("metric", "task", "rows", "folds", "strengths", "each", "sd", "score", "learning_curve")
    found = {name: after[name] for name in always if name in after} | {"strength": value, "chosen": ended}
    if not marks:
        return found
    exact = next((mark for mark in marks if abs(mark["strength"] - value) < 1e-9), None)
    if exact is not None:
        found |= {name: exact[name] for name in ("score", "interval") if name in exact}
        return found | _general(before, after, exact)
    places = [mark["strength"] for mark in marks]
    found |= {"score": float(np.interp(value, places, [mark["score"] for mark in marks])), "interpolated": True}
    measured = {
        name: float(np.interp(value, places, [mark[name] for mark in marks]))
        for name in ("general", "retrieval")
        if all(name in mark for mark in marks)
    }
    return found | _general(before, after, measured)


def _general(before: Mapping[str, Any], after: Mapping[str, Any], scores: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``general`` of a model whose scores of the general probe and of retrieval are known; empty without them."""
    known = after.get("general") or before.get("general") or {}
    found: dict[str, Any] = {"rows": known["rows"]} if "rows" in known and "general" in scores else {}
    found |= {"score": scores["general"]} if "general" in scores else {}
    if "retrieval" in scores and known.get("retrieval"):
        found["retrieval"] = {name: known["retrieval"][name] for name in ("metric", "rows")} | {"score": scores["retrieval"]}
    return {"general": found} if found else {}
