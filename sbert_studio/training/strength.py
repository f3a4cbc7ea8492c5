"""The strength dial: a finished run's model anywhere between untuned and tuned, without training."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import StudioError
from ..models.quantized import train_table_of
from ..models.trainable import Trainable
from ..workspace import write_json
from .artifacts import write_model
from .blend import Blend, unblended
from .checkpoints import Checkpoints, disk_space, read_tensors
from .prepare import put_adapter, reshape
from .spec import TrainSpec

_OUTCOMES = ("course.json", "outcome.json")


def set_strength(folder: Path, spec: TrainSpec, value: float, *, load: Callable[[], Trainable]) -> dict[str, Any]:
    """Write ``model/`` (and ``adapter/``) of a finished run anew, with another blend of the untuned and the tuned weights.

    Each folder is replaced whole, the card with it. The outcome that is kept in ``folder`` changes as well.

    Args:
        folder: the run's.
        spec: the run's.
        value: 0 (untuned) to 1 (tuned).
        load: gives a fresh copy of the untuned model.

    Returns:
        The run's new ``after``: with ``strength``, and the scores at it. Between two marks that were judged, ``score`` and ``general``
        lie on the line between theirs, and ``interpolated`` is true.

    Raises:
        StudioError: the strength is out of range, the run is not finished, or nothing lies between its model and the untuned one.
    """
    outcome_file = next((folder / name for name in _OUTCOMES if (folder / name).is_file()), None)
    tuned = Checkpoints(folder).newest()
    if outcome_file is None or tuned is None:
        raise StudioError("the run is not finished, or its tuned weights are gone", "choose a finished run")
    if why := strengthless(spec):
        raise StudioError(f"this run has no strength to set: {why}", "train again with other settings")
    if not 0 <= value <= 1:
        raise StudioError(f"a strength of {value:g} is not possible", "choose a value from 0 (untuned) to 1 (tuned)")
    outcome = json.loads(outcome_file.read_text(encoding="utf-8"))
    encoder = load()
    base = encoder.base or spec.model
    reshape(spec, encoder)
    put_adapter(spec, encoder)
    stored = read_tensors(tuned, weights_only=True).encoder
    train_table_of(encoder, stored)
    learning = {name: parameter for name, parameter in encoder.named_parameters() if parameter.requires_grad}
    blend = Blend(learning)
    blend.between(stored)
    blend.put(value)
    encoder.eval()
    after = at_strength(outcome["before"], outcome["after"], value)
    with disk_space("the model", folder):
        write_model(spec, encoder, folder, base, outcome["before"], after, int(outcome["steps"]))
    write_json(outcome_file, outcome | {"after": after})
    return after


def strengthless(spec: TrainSpec) -> str:
    """Why a run of this spec has no strength dial; nothing where it has one."""
    return unblended(spec.replace(blend=True))


def at_strength(before: Mapping[str, Any], after: Mapping[str, Any], value: float) -> dict[str, Any]:
    """The scores at a strength, as ``after`` has them; see :func:`set_strength`. Without marks only the strength is told.

    What the run ended with stays in ``chosen``, so that turned back the dial tells all of it again. Another strength has no gain with an
    interval: whoever chose it had seen how each does on these very rows.
    """
    if "kept" in after:  # of several trainings, the one whose model was kept
        return {**after, "strength": value, "kept": at_strength(before, after["kept"], value)}
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
    """What a probe's result says beside the score."""
    known = after.get("general") or before.get("general") or {}
    return {"rows": known["rows"]} if "rows" in known else {}
