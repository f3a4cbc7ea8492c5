"""Strength dial: set a finished run's model to any interpolation between base and tuned weights, without training."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import StudioError
from ..models.quantized import restore_trained_rows
from ..models.trainable import Trainable
from ..workspace import write_json
from .artifacts import write_model
from .blend import WeightBlend, blend_obstacle
from .checkpoints import Checkpoints, read_tensors, report_full_disk
from .prepare import add_adapter, apply_architecture
from .spec import TrainSpec

_OUTCOMES = ("course.json", "outcome.json")


def set_strength(folder: Path, spec: TrainSpec, value: float, *, load: Callable[[], Trainable]) -> dict[str, Any]:
    """Write ``model/`` (and ``adapter/``) of a finished run with another blend of base and tuned weights.

    Each folder is replaced atomically together with its card, and the stored outcome is updated.

    Args:
        folder: run folder.
        spec: spec of the run.
        value: 0 (base) to 1 (tuned).
        load: returns a fresh copy of the base model.

    Returns:
        The new ``after`` scores with ``strength``. Between two evaluated marks, ``score`` and ``general`` are interpolated and
        ``interpolated`` is True.

    Raises:
        StudioError: the strength is out of range, the run is not finished, or the model cannot be blended.
    """
    outcome_file = next((folder / name for name in _OUTCOMES if (folder / name).is_file()), None)
    tuned = Checkpoints(folder).newest()
    if outcome_file is None or tuned is None:
        raise StudioError("the run is not finished, or its tuned weights are gone", "choose a finished run")
    if why := strength_obstacle(spec):
        raise StudioError(f"this run has no strength to set: {why}", "train again with other settings")
    if not 0 <= value <= 1:
        raise StudioError(f"a strength of {value:g} is not possible", "choose a value from 0 (untuned) to 1 (tuned)")
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


def strength_obstacle(spec: TrainSpec) -> str:
    """Return the reason why a run of this spec has no strength dial; empty if it has one."""
    return blend_obstacle(spec.replace(blend=True))


def scores_at_strength(before: Mapping[str, Any], after: Mapping[str, Any], value: float) -> dict[str, Any]:
    """Return the scores at a strength; see :func:`set_strength`. Without marks only the strength is known.

    The original result is kept in ``chosen``. Other strengths have no gain interval, since they are chosen knowing the scores on these
    rows.
    """
    if "kept" in after:  # of several trainings, the one whose model was kept
        return {**after, "strength": value, "kept": scores_at_strength(before, after["kept"], value)}
    marks = list(after.get("strengths", ()))
    ended = dict(after.get("chosen") or {name: figure for name, figure in after.items() if name != "strengths"})
    if "strength" in ended and abs(ended["strength"] - value) < 1e-9:
        return ended | ({"strengths": marks} if marks else {})
    always = ("metric", "task", "rows", "folds", "strengths", "each", "sd", "score")
    found = {name: after[name] for name in always if name in after} | {"strength": value, "chosen": ended}
    if not marks:
        return found
    exact = next((mark for mark in marks if abs(mark["strength"] - value) < 1e-9), None)
    if exact is not None:
        found |= {name: exact[name] for name in ("score", "interval") if name in exact}
        found |= {"general": {**_general(before, after), "score": exact["general"]}} if "general" in exact else {}
        return found
    places = [mark["strength"] for mark in marks]
    found |= {"score": float(np.interp(value, places, [mark["score"] for mark in marks])), "interpolated": True}
    if all("general" in mark for mark in marks):
        score = float(np.interp(value, places, [mark["general"] for mark in marks]))
        found["general"] = {**_general(before, after), "score": score}
    return found


def _general(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    known = after.get("general") or before.get("general") or {}
    return {"rows": known["rows"]} if "rows" in known else {}
