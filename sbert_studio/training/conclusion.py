"""End of a training: choose the blend to keep and report the result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from . import mistakes
from .blend import MARKS, Blend, chosen, marked, unblended, with_choice
from .checkpoints import State
from .evaluator import Candidates, name_of_step
from .events import Notice
from .members import Assignment
from .steps import Parts


def concluded(parts: Parts, state: State, blend: Blend, assignment: Assignment, reached: str, candidates: Candidates) -> State:
    """Leave the encoder with the weights that are kept, and the state with the scores of these.

    That is the blend which did best on the held-out rows, or the one that others have chosen. A run that was stopped keeps the better
    one of the untuned and the tuned model, without a further evaluation.

    Args:
        blend: knows the untuned and the best tuned weights.
        candidates: the evaluations of the training, which the blends join.
    """
    if assignment.verdict is not None:
        before, after = assignment.verdict
        return replace(state, before=before, after=_measured_elsewhere(parts, blend, after))
    if parts.judge is None or not state.after:
        if parts.general is not None:
            found = parts.general(parts.encoder)["score"]
            parts.say(Notice(f"on everyday pairs the model changed from {parts.general.untuned['score']:.3f} to {found:.3f} (Spearman)"))
        return state
    if not assignment.blends:
        return state
    if why := unblended(parts.spec):
        if state.after["score"] <= state.before["score"]:
            parts.say(Notice(f"the tuned model is no better than the untuned one on the held-out rows, and is kept all the same: {why}"))
        return state

    def judge(strength: float) -> dict[str, Any]:
        assert parts.judge is not None
        blend.put(strength)
        scores = parts.judge(parts.encoder)
        candidates.add(_name_at(strength), scores, parts.judge.resampled)
        return scores | ({"general": parts.general(parts.encoder)} if parts.general is not None else {})

    if reached == "stopped":
        ends = [{**state.before, "gain_interval": [0.0, 0.0], "strength": 0.0}, {**state.after, "strength": 1.0}]
        after = ends[0] if state.before["score"] > state.after["score"] else ends[1]
    else:
        after = chosen(marked(state.before, state.after, judge))
    strength = after["strength"]
    blend.put(strength)
    name = name_of_step(state.best) if strength == MARKS[-1] else _name_at(strength)
    return replace(state, after=with_choice(candidates.chosen(name, after, parts.judge.untuned(), besides=1)))


def noted(parts: Parts, blend: Blend) -> None:
    """Judge the blends of a training that is there to judge, and note what was found, with the worst mistakes of each."""
    if parts.judge is None or parts.marks is None:
        return
    for strength in MARKS if not unblended(parts.spec) else ():
        blend.put(strength)
        if strength not in (MARKS[0], MARKS[-1]):
            parts.marks.note(_name_at(strength), parts.judge(parts.encoder), parts.judge.resampled)
        if parts.processes.main:
            mistakes.write(parts.folder, _worst(parts, strength), mistakes.name_at(strength))
    if unblended(parts.spec) and parts.processes.main:
        mistakes.write(parts.folder, _worst(parts, MARKS[-1]), mistakes.name_at(MARKS[-1]))


def keep_mistakes(parts: Parts, state: State) -> None:
    """Keep the worst mistakes of the model that is left, where rows were held out from it."""
    if parts.judge is not None and state.after and parts.processes.main:
        mistakes.write(parts.folder, _worst(parts, float(state.after.get("strength", 1.0))))


def _name_at(strength: float) -> str:
    return f"strength-{strength}"


def _worst(parts: Parts, strength: float) -> dict[str, Any]:
    assert parts.judge is not None
    return mistakes.worst(parts.encoder, parts.judge.dev, parts.judge.known, strength)


def _measured_elsewhere(parts: Parts, blend: Blend, after: Any) -> dict[str, Any]:
    """The verdict of others, with what the general probe finds at each mark; the encoder is left with the strength that they chose."""
    found = {**after}
    if parts.general is not None:
        strengths = [{**mark} for mark in after.get("strengths", ())] or [{"strength": 1.0}]
        for mark in strengths:
            blend.put(mark["strength"])
            same = {**parts.general.untuned, "change_interval": [0.0, 0.0]}
            general = parts.general(parts.encoder) if mark["strength"] else same
            mark["general"] = general["score"]
            if mark["strength"] == after.get("strength", 1.0):
                found["general"] = general
        if "strengths" in after:
            found["strengths"] = strengths
    blend.put(after.get("strength", 1.0))
    return found
