"""The interval of a training's gain allows for the choice of the checkpoint and of the blend, after a resume too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sbert_studio.evaluation.bootstrap import paired_gain
from sbert_studio.evaluation.report import describe_selection
from sbert_studio.training.checkpoints import (
    EVALUATIONS,
    MODEL,
    STATE,
    Checkpoints,
    TrainingState,
    TrainingTensors,
    find_damage,
    read_state,
    read_tensors,
)
from sbert_studio.training.evaluator import Candidates
from sbert_studio.training.events import Evaluated, Notice
from sbert_studio.training.spec import TrainSpec
from sbert_studio.training.strength import set_strength
from sbert_studio.training.trainer import TrainingOutcome, train

from .tiny import Told, never, scored_pairs, small_spec, stops_after, tiny_encoder

SPEC = small_spec(epochs=3, evaluations_per_epoch=2, checkpoint_every=3, learning_rate=1e-2, blend=False)
ROWS, DEV = scored_pairs(40), scored_pairs(30, seed=7)


def tune(
    folder: Path, spec: TrainSpec = SPEC, stop_at: int | None = None, told: Told | None = None, *, resume: bool = False
) -> TrainingOutcome:
    should_stop = never if stop_at is None else stops_after(stop_at)
    return train(
        spec, ROWS, Told() if told is None else told, should_stop, encoder=tiny_encoder(), folder=folder, dev=DEV, resume=resume
    )  # fmt: skip


def told_by_itself(told: Told, after: dict[str, Any]) -> list[float]:
    """The interval of the evaluation that was kept, as it was told when it was judged."""
    return next(event.scores["gain_interval"] for event in reversed(told.of(Evaluated)) if event.score == after["score"])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Told]:
    """The scores after a run of ``SPEC`` that was left alone, and what it told."""
    told = Told()
    return dict(tune(tmp_path_factory.mktemp("whole"), told=told).after), told


def test_the_interval_is_wider_than_that_of_the_kept_evaluation_by_itself(whole: tuple[dict[str, Any], Told]) -> None:
    after, told = whole
    evaluations = len(told.of(Evaluated)) - 1
    assert after["chosen_among"] == evaluations == 6
    low, high = told_by_itself(told, after)
    assert after["gain_interval"][0] < low - 1e-4
    assert after["gain_interval"][1] == pytest.approx(high, abs=1e-6)
    assert "allows for" in describe_selection(after)


def test_of_a_single_evaluation_the_interval_is_that_of_the_paired_bootstrap(tmp_path: Path) -> None:
    told = Told()
    after = dict(tune(tmp_path, SPEC.replace(epochs=1, evaluations_per_epoch=1), told=told).after)
    assert after["chosen_among"] == 1 and describe_selection(after) == ""
    assert after["gain_interval"] == pytest.approx(told_by_itself(told, after), abs=1e-6)


@pytest.mark.parametrize("stop_at", [4, 11])
def test_a_resumed_training_ends_with_the_same_interval(tmp_path: Path, whole: tuple[dict[str, Any], Told], stop_at: int) -> None:
    assert tune(tmp_path, stop_at=stop_at).status == "stopped"
    assert tune(tmp_path, resume=True).after == whole[0]


def test_a_checkpoint_holds_the_evaluations_that_it_knows_of(tmp_path: Path) -> None:
    tune(tmp_path, stop_at=11)
    path = Checkpoints(tmp_path).newest()
    assert path is not None
    state, tensors = read_state(path), read_tensors(path)
    assert state.evaluations is not None
    assert list(state.evaluations) == ["step-2", "step-5", "step-7", "step-10"]
    assert set(tensors.evaluations) == set(state.evaluations)
    assert all(found.shape == (1000,) for found in tensors.evaluations.values())
    assert (path / EVALUATIONS).stat().st_size < 5_000 * len(state.evaluations)
    assert not read_tensors(path, weights_only=True).evaluations


def test_a_checkpoint_of_an_earlier_version_is_resumed_with_the_former_interval(tmp_path: Path, whole: tuple[dict[str, Any], Told]) -> None:
    tune(tmp_path, stop_at=11)
    for path in tmp_path.glob("checkpoints/step-*"):
        values = json.loads((path / STATE).read_text(encoding="utf-8"))["state"]
        del values["evaluations"]
        values["after"].pop("chosen_among", None)
        values["after"]["gain_interval"] = told_by_itself(whole[1], values["after"])
        (path / STATE).write_text(json.dumps(values), encoding="utf-8")
        (path / EVALUATIONS).unlink(missing_ok=True)
    told = Told()
    after = dict(tune(tmp_path, told=told, resume=True).after)
    assert after["gain_interval"] == told_by_itself(whole[1], after)
    assert "chosen_among" not in after
    assert any("leaves out that the checkpoint was chosen" in event.message for event in told.of(Notice))


def test_the_dial_turned_back_tells_the_same_interval(tmp_path: Path) -> None:
    spec = SPEC.replace(blend=True)
    tune(tmp_path, spec)
    after = json.loads((tmp_path / "outcome.json").read_text(encoding="utf-8"))["after"]
    assert after["strength"] > 0, "nothing was gained, so that nothing can be turned back to"
    (mark,) = [mark for mark in after["strengths"] if mark["strength"] == after["strength"]]
    assert mark["gain_interval"] == after["gain_interval"]
    assert after["chosen_among"] == 10, "six evaluations, three blends and the untuned model"
    assert "gain_interval" not in set_strength(tmp_path, spec, 0.6, load=tiny_encoder)
    assert set_strength(tmp_path, spec, after["strength"], load=tiny_encoder) == after
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8").replace("\\", "")
    low, high = after["gain_interval"]
    assert f"[{low:+.4f}, {high:+.4f}]" in card and "allows for" in card


def test_a_kept_blend_was_chosen_among_the_evaluations_too() -> None:
    rng = np.random.default_rng(1)
    untuned = rng.normal(0.5, 0.05, 1000)
    candidates = Candidates()
    kept: dict[str, Any] = {"score": 0.53, "strength": 0.5, **paired_gain(untuned, untuned + 0.03 + rng.normal(0, 0.01, 1000))}
    for name, score in (("step-5", 0.52), ("step-10", 0.525), ("strength-0.5", 0.53)):
        candidates.add(name, {"score": score}, untuned + (score - 0.5) + rng.normal(0, 0.01, 1000))
    found = candidates.select("strength-0.5", kept, untuned, besides=1)
    assert found["chosen_among"] == 4
    assert found["gain_interval"][0] < kept["gain_interval"][0] - 0.002
    assert candidates.select("strength-0.0", {**kept, "gain_interval": [0.0, 0.0]}, untuned)["gain_interval"] == [0.0, 0.0]
    other = Candidates()
    other.load(candidates.scores(), candidates.tensors())
    assert other.select("strength-0.5", kept, untuned, besides=1) == found, "written and read again"


def test_a_checkpoint_whose_weights_are_put_back_from_their_copy_keeps_its_evaluations(tmp_path: Path) -> None:
    checkpoints, some = Checkpoints(tmp_path), {"w": torch.arange(3.0)}
    known = {f"step-{step}": torch.full((5,), float(step)) for step in (10, 20)}
    for step in (10, 20):
        checkpoints.write(TrainingState("i", step, 10, evaluations=dict.fromkeys(known, 0.5)), TrainingTensors(some, some, some, known))
    (checkpoints.at(10) / MODEL).write_bytes(b"")
    assert "the copy of its weights is used" in checkpoints.repair()[0]
    assert find_damage(checkpoints.at(10), weights_only=False) == ""
    assert read_tensors(checkpoints.at(10)).evaluations["step-20"].tolist() == [20.0] * 5
