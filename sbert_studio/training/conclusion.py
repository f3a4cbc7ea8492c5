"""End of a training: choose the weight blend to keep and report its scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from . import mistakes
from .blend import MARKS, WeightBlend, blend_obstacle, chosen_scores, score_marks, with_kept_interval
from .checkpoints import TrainingState
from .evaluator import Candidates, step_name
from .events import Notice
from .members import Assignment
from .steps import TrainingParts


def conclude(
    parts: TrainingParts, state: TrainingState, blend: WeightBlend, assignment: Assignment, reached: str, candidates: Candidates
) -> TrainingState:
    """Set the encoder to the weights to keep, and the state to their scores.

    These are the blend with the best held-out score, or the one chosen by the assignment. A stopped run keeps the better of base and tuned
    model without further evaluation.

    Args:
        blend: knows the base and the best tuned weights.
        candidates: evaluations of the training, to which the blends are added.
    """
    if assignment.verdict is not None:
        before, after = assignment.verdict
        return replace(state, before=before, after=_with_general_scores(parts, blend, after))
    if parts.judge is None or not state.after:
        if parts.general is not None:
            found = parts.general(parts.encoder)["score"]
            parts.emit_event(
                Notice(f"on everyday pairs the model changed from {parts.general.untuned['score']:.3f} to {found:.3f} (Spearman)")
            )
        return state
    if not assignment.blends:
        return state
    if why := blend_obstacle(parts.spec):
        if state.after["score"] <= state.before["score"]:
            parts.emit_event(
                Notice(f"the tuned model is no better than the untuned one on the held-out rows, and is kept all the same: {why}")
            )
        return state

    def judge(strength: float) -> dict[str, Any]:
        assert parts.judge is not None
        blend.apply(strength)
        scores = parts.judge(parts.encoder)
        candidates.add(_strength_name(strength), scores, parts.judge.resampled)
        return scores | ({"general": parts.general(parts.encoder)} if parts.general is not None else {})

    if reached == "stopped":
        ends = [{**state.before, "gain_interval": [0.0, 0.0], "strength": 0.0}, {**state.after, "strength": 1.0}]
        after = ends[0] if state.before["score"] > state.after["score"] else ends[1]
    else:
        after = chosen_scores(score_marks(state.before, state.after, judge))
    strength = after["strength"]
    blend.apply(strength)
    name = step_name(state.best) if strength == MARKS[-1] else _strength_name(strength)
    return replace(state, after=with_kept_interval(candidates.select(name, after, parts.judge.untuned(), besides=1)))


def record_blends(parts: TrainingParts, blend: WeightBlend) -> None:
    """Evaluate the blends of an evaluation-only training, and record scores and worst mistakes."""
    if parts.judge is None or parts.marks is None:
        return
    for strength in MARKS if not blend_obstacle(parts.spec) else ():
        blend.apply(strength)
        if strength not in (MARKS[0], MARKS[-1]):
            parts.marks.add(_strength_name(strength), parts.judge(parts.encoder), parts.judge.resampled)
        if parts.processes.main:
            mistakes.write_mistakes(parts.folder, _worst(parts, strength), mistakes.mistakes_file(strength))
    if blend_obstacle(parts.spec) and parts.processes.main:
        mistakes.write_mistakes(parts.folder, _worst(parts, MARKS[-1]), mistakes.mistakes_file(MARKS[-1]))


def save_mistakes(parts: TrainingParts, state: TrainingState) -> None:
    """Save the worst mistakes of the final model if it has held-out rows."""
    if parts.judge is not None and state.after and parts.processes.main:
        mistakes.write_mistakes(parts.folder, _worst(parts, float(state.after.get("strength", 1.0))))


def _strength_name(strength: float) -> str:
    return f"strength-{strength}"


def _worst(parts: TrainingParts, strength: float) -> dict[str, Any]:
    assert parts.judge is not None
    return mistakes.find_mistakes(parts.encoder, parts.judge.dev, parts.judge.known, strength)


def _with_general_scores(parts: TrainingParts, blend: WeightBlend, after: Any) -> dict[str, Any]:
    found = {**after}
    if parts.general is not None:
        strengths = [{**mark} for mark in after.get("strengths", ())] or [{"strength": 1.0}]
        for mark in strengths:
            blend.apply(mark["strength"])
            same = {**parts.general.untuned, "change_interval": [0.0, 0.0]}
            general = parts.general(parts.encoder) if mark["strength"] else same
            mark["general"] = general["score"]
            if mark["strength"] == after.get("strength", 1.0):
                found["general"] = general
        if "strengths" in after:
            found["strengths"] = strengths
    blend.apply(after.get("strength", 1.0))
    return found
