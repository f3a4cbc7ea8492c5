"""A run that is judged in folds goes on from where it was, whatever of its own notes is damaged, and ends as if nothing had happened."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from sbert_studio.data.examples import Examples
from sbert_studio.errors import StudioError
from sbert_studio.training.crossval import in_folds
from sbert_studio.training.events import Notice, Started
from sbert_studio.training.spec import TrainSpec
from sbert_studio.training.trainer import Outcome, train
from sbert_studio.training.trials import run_trials

from .test_damaged_checkpoints import cut
from .tiny import SHORT, SHORT_ROWS, Told, never, scored_pairs, small_spec, stops_after, tiny_encoder, weights

SPEC = small_spec(epochs=1, evaluations_per_epoch=3, accept_alarm="both")
"""Of 24 rows: four folds of three steps each, then three steps on all rows."""


def course(folder: Path, should_stop: Callable[[], bool] = never, told: Told | None = None) -> Outcome:
    def load(spec: TrainSpec, examples: Examples, source: Path | None) -> torch.nn.Module:
        return tiny_encoder()

    return run_trials(SPEC, scored_pairs(24), Told() if told is None else told, should_stop, load=load, folder=folder)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, torch.Tensor]:
    folder = tmp_path_factory.mktemp("whole")
    course(folder)
    return weights(folder / "model")


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was stopped in its second fold, after two of three evaluations. Copy before use."""
    folder = tmp_path_factory.mktemp("stopped")
    assert course(folder, stops_after(5)).status == "stopped"
    return folder


def same(folder: Path, whole: dict[str, torch.Tensor]) -> bool:
    found = weights(folder / "model")
    return set(found) == set(whole) and all(torch.equal(found[name], whole[name]) for name in whole)


def test_a_fold_that_was_stopped_after_an_evaluation_goes_on_from_its_step(
    tmp_path: Path, stopped: Path, whole: dict[str, torch.Tensor]
) -> None:
    folder, told = shutil.copytree(stopped, tmp_path / "run"), Told()
    course(folder, told=told)
    assert [event.step for event in told.of(Started)] == [2, 0, 0, 0]  # the second fold, the others, all rows
    assert not [event.message for event in told.of(Notice) if "damaged" in event.message]
    assert same(folder, whole)


@pytest.mark.parametrize("kind", ["json", "npy"])
def test_a_fold_whose_evaluations_are_damaged_begins_anew(kind: str, tmp_path: Path, stopped: Path, whole: dict[str, torch.Tensor]) -> None:
    folder, told = shutil.copytree(stopped, tmp_path / "run"), Told()
    done = sorted(folder.glob(f"parts/*/marks/*.{kind}"))
    assert done
    cut(done[0])
    assert course(folder, told=told).status == "finished"
    assert any("begins anew" in event.message for event in told.of(Notice))
    assert same(folder, whole)


def test_what_was_kept_of_the_untuned_model_is_made_again(tmp_path: Path, whole_run: Path, stopped_run: Path) -> None:
    folder = shutil.copytree(stopped_run, tmp_path / "run")
    cut(folder / "untuned.npy")
    done = train(SHORT, SHORT_ROWS, Told(), never, encoder=tiny_encoder(), folder=folder, resume=True)
    expected = json.loads((whole_run / "outcome.json").read_text(encoding="utf-8"))["after"]["gain_interval"]
    assert list(done.after["gain_interval"]) == expected


def test_folds_are_as_many_as_the_groups_allow() -> None:
    pairs = scored_pairs(99)
    grouped = Examples(
        kind=pairs.kind, texts=pairs.texts, targets=pairs.targets, lines=pairs.lines, groups=tuple(f"g{row % 3}" for row in range(99))
    )
    assert len(in_folds(small_spec(by_group=True), grouped, None)) == 3


def test_folds_that_were_asked_for_and_cannot_be_had_are_refused() -> None:
    with pytest.raises(StudioError):
        in_folds(small_spec(judge="folds"), scored_pairs(3), None)
