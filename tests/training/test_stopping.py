"""A run that is to stop does so within a step, also while it is evaluated, and goes on to the same model."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from sbert_studio.progress import StoppedError, stoppable
from sbert_studio.training.blend import set_strength
from sbert_studio.training.events import Evaluated, Event, Notice, Phase, Step
from sbert_studio.training.loop import TrainingLoop
from sbert_studio.training.spec import TrainSpec
from sbert_studio.training.trainer import TrainingOutcome, train
from sbert_studio.training.trials import run_trials

from .tiny import Told, load, never, scored_pairs, small_spec, tiny_encoder, weights

ROWS, DEV = scored_pairs(40), scored_pairs(30, seed=7)
SPLIT = small_spec(epochs=2, checkpoint_every=100)
FOLDED = small_spec(epochs=1, evaluation="folds")


class StopAt:
    """A listener whose run is to stop as soon as its evaluation number ``at`` begins, counted from 0."""

    def __init__(self, at: int) -> None:
        self.told, self._left, self.wanted = Told(), at, False

    def __call__(self, event: Event) -> None:
        self.told(event)
        if isinstance(event, Phase) and event.title.startswith("evaluating"):
            self.wanted, self._left = self.wanted or self._left == 0, self._left - 1


def run(spec: TrainSpec, folder: Path, at: int = -1) -> TrainingOutcome:
    """Train on one split, or in folds; as in a run of the page, whatever takes long notices the stop."""
    stop = StopAt(at)
    with stoppable(lambda: stop.wanted):
        if spec is SPLIT:
            return train(spec, ROWS, stop, never, encoder=tiny_encoder(), folder=folder, dev=DEV, resume=True)
        return run_trials(spec, scored_pairs(30), stop, never, load=load, folder=folder)


@pytest.mark.parametrize("spec", [SPLIT, FOLDED], ids=["split", "folds"])
def test_stopped_in_each_of_its_evaluations_it_ends_like_an_undisturbed_run(tmp_path: Path, spec: TrainSpec) -> None:
    whole, halted = run(spec, tmp_path / "whole"), 0
    for at in range(200):
        try:
            outcome = run(spec, tmp_path / "run", at)
        except StoppedError:  # the base model of the folds is evaluated before anything can be kept
            assert at == 0 and spec is FOLDED
            continue
        if outcome.status == "finished":
            break
        assert outcome.status == "stopped"
        halted += 1
    assert halted >= 3 and outcome.after == whole.after
    one, other = weights(whole.model), weights(outcome.model)
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert set_strength(tmp_path / "run", spec, 0.5, load=tiny_encoder)["strength"] == 0.5, "the weights of the last step are kept"


def test_a_slow_evaluation_is_not_made_for_a_run_that_is_to_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TrainingLoop, "evaluates_quickly", False)
    told = Told()
    outcome = train(SPLIT, ROWS, told, lambda: True, encoder=tiny_encoder(), folder=tmp_path, dev=DEV)
    assert outcome.steps == 0 and outcome.before and not outcome.after
    outcome = train(SPLIT, ROWS, told, lambda: bool(told.of(Step)), encoder=tiny_encoder(), folder=tmp_path, dev=DEV)
    assert (outcome.status, outcome.after) == ("stopped", {}) and outcome.steps > 0 and outcome.model.is_dir()
    assert len(told.of(Evaluated)) == 2, "the base model, twice"
    assert any("was not evaluated" in note.message and note.passing for note in told.of(Notice))
