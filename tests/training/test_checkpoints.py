"""A damaged checkpoint is named and passed over; the run goes on from the one before it and ends as if nothing had happened."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tiny_studio import cut, flip

from sbert_studio.errors import StudioError
from sbert_studio.training.checkpoints import Checkpoints, TrainingState, TrainingTensors, read_state, read_tensors
from sbert_studio.training.events import Started
from sbert_studio.training.spec import TrainSpec
from sbert_studio.training.trainer import train

from .tiny import SHORT, SHORT_ROWS, Told, never, small_spec, stops_after, tiny_encoder, weights

SPOILT = small_spec(
    epochs=2, checkpoint_every=2, evaluations_per_epoch=2, learning_rate=0.1, loss="cosent", blend=False, dropout=0.0
)  # fmt: skip
"""The rate spoils the model, so that an early evaluation stays the best."""


def change_a_number(path: Path) -> None:
    path.write_text(path.read_text().replace('"rows": ', '"rows": 1'))


def resume(folder: Path, spec: TrainSpec = SHORT) -> Told:
    """Resume the run in ``folder``, and return what it told."""
    told = Told()
    train(spec, SHORT_ROWS, told, never, encoder=tiny_encoder(), folder=folder, resume=True)
    return told


def assert_same_model(folder: Path, other: Path) -> None:
    found, wanted = weights(folder / "model"), weights(other / "model")
    assert found.keys() == wanted.keys()
    for key, weight in found.items():
        assert torch.equal(weight, wanted[key]), key


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs at a rate that is too high: in ``whole`` one left alone, in ``stopped`` one stopped at step 9 of 10. Copy before use."""
    folder = tmp_path_factory.mktemp("spoilt")
    train(SPOILT, SHORT_ROWS, Told(), never, encoder=tiny_encoder(), folder=folder / "whole")
    train(SPOILT, SHORT_ROWS, Told(), stops_after(9), encoder=tiny_encoder(), folder=folder / "stopped")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("copied", [True, False])
def test_where_only_the_best_is_damaged_the_run_ends_as_if_nothing_had_happened(tmp_path: Path, spoilt: Path, copied: bool) -> None:
    folder = shutil.copytree(spoilt / "stopped", tmp_path / "run")
    checkpoints = Checkpoints(folder)
    newest = checkpoints.newest()
    assert newest is not None and newest == checkpoints.at(9)
    best = read_state(newest).best
    assert 0 < best < 8, "it is none of the two newest"
    flip(checkpoints.at(best) / "encoder.safetensors")
    if not copied:
        flip(checkpoints.folder / f"best-{best:09d}" / "encoder.safetensors")
    told = resume(folder, SPOILT)
    assert told.of(Started)[0].step == (9 if copied else 0)
    (damaged,) = told.notices("damaged")
    assert f"step {best}" in damaged
    assert told.notices("resumes from step 9" if copied else "starts over")
    assert_same_model(folder, spoilt / "whole")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "harm"),
    [
        ("encoder.safetensors", flip),
        ("encoder.safetensors", cut),
        ("optimiser.safetensors", flip),
        ("optimiser.safetensors", Path.unlink),
        ("evaluations.safetensors", flip),
        ("evaluations.safetensors", Path.unlink),
        ("objective.safetensors", lambda path: path.write_bytes(b"")),
        ("state.json", cut),
        ("state.json", Path.unlink),
        ("state.json", change_a_number),
    ],
)
def test_a_damaged_newest_checkpoint_gives_way_to_the_one_before(
    tmp_path: Path, whole_run: Path, stopped_run: Path, name: str, harm: Callable[[Path], object]
) -> None:
    folder = shutil.copytree(stopped_run, tmp_path / "run")
    newest = Checkpoints(folder).newest()
    assert newest is not None and newest.name == "step-000000007"
    harm(newest / name)
    told = resume(folder)
    assert told.of(Started)[0].step == 6
    (damaged,) = told.notices("damaged")
    assert "step 7" in damaged and name in damaged
    assert_same_model(folder, whole_run)


@pytest.mark.slow
def test_where_all_are_damaged_the_run_begins_anew_and_says_so(tmp_path: Path, whole_run: Path, stopped_run: Path) -> None:
    folder = shutil.copytree(stopped_run, tmp_path / "run")
    for path in Checkpoints(folder).folder.glob("step-*/encoder.safetensors"):
        flip(path)
    told = resume(folder)
    assert told.of(Started)[0].step == 0
    assert told.notices("starts over")
    assert_same_model(folder, whole_run)


def test_two_checkpoints_are_kept_whole_and_the_best_of_each(tmp_path: Path) -> None:
    checkpoints, none = Checkpoints(tmp_path), {"w": torch.zeros(3)}
    for step, best in ((10, 10), (20, 10), (30, 10), (40, 40), (50, 40)):
        checkpoints.write(TrainingState("i", step, best), TrainingTensors(none, none, none))
        whole = [path.name for path in sorted(checkpoints.folder.iterdir()) if (path / "optimiser.safetensors").is_file()]
        assert whole == [f"step-{one:09d}" for one in (10, 20, 30, 40, 50) if one <= step][-2:]
    assert {path.name for path in checkpoints.folder.iterdir()} == {"step-000000040", "step-000000050", "best-000000040"}
    checkpoints.write(TrainingState("i", 60, 40), TrainingTensors(none, none, none))
    assert not (checkpoints.at(40) / "optimiser.safetensors").exists()
    assert read_tensors(checkpoints.at(40), weights_only=True).encoder["w"].shape == (3,)


def best_at_20(tmp_path: Path, *, copied: bool = True) -> Checkpoints:
    """Checkpoints of the steps 30 and 40, whole, and the best weights, of step 20; each with numbers of its own."""
    checkpoints = Checkpoints(tmp_path)
    for step, best in ((10, 10), (20, 20), (30, 20), (40, 20)):
        checkpoints.write(TrainingState("i", step, best), TrainingTensors(*[{"w": torch.full((3,), float(step))}] * 3))
    if not copied:  # as earlier versions left it
        shutil.rmtree(checkpoints.folder / "best-000000020")
    return checkpoints


@pytest.mark.parametrize("name", ["encoder.safetensors", "objective.safetensors", "state.json", ""])
def test_damaged_best_weights_are_had_from_their_copy(tmp_path: Path, name: str) -> None:
    checkpoints = best_at_20(tmp_path)
    cut(checkpoints.at(20) / name) if name else shutil.rmtree(checkpoints.at(20))
    told = checkpoints.repair()
    assert len(told) == 2
    assert "step 20, the best one, was damaged" in told[0] and (name or "state.json") in told[0]
    assert told[1] == "training resumes from step 40"
    assert checkpoints.newest() == checkpoints.at(40)
    assert read_tensors(checkpoints.at(20), weights_only=True).encoder["w"].tolist() == [20, 20, 20]
    assert checkpoints.repair() == ()


def test_a_best_checkpoint_that_was_the_last_but_one_gives_way_to_the_one_before_it(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    for step, best in ((10, 10), (20, 10), (30, 30)):
        checkpoints.write(TrainingState("i", step, best), TrainingTensors(*[{"w": torch.zeros(3)}] * 3))
    flip(checkpoints.at(30) / "encoder.safetensors")
    told = checkpoints.repair()
    assert "step 30 was damaged" in told[0] and told[1:] == ("training resumes from step 20",)
    assert checkpoints.newest() == checkpoints.at(20)


def test_best_weights_that_have_no_optimiser_are_not_called_damaged(tmp_path: Path) -> None:
    checkpoints = best_at_20(tmp_path)
    for step in (30, 40):
        flip(checkpoints.at(step) / "encoder.safetensors")
    told = checkpoints.repair()
    assert [word in " ".join(told) for word in ("step 20 ", "step 30 ", "step 40 ")] == [False, True, True]
    assert "starts over" in told[-1]


def test_where_there_is_no_room_for_a_copy_the_checkpoint_is_written_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    checkpoints = best_at_20(tmp_path)
    assert {path.name for path in checkpoints.folder.iterdir()} == {f"step-0000000{step}" for step in (20, 30, 40)}
    assert checkpoints.repair() == () and checkpoints.newest() == checkpoints.at(40)


def test_a_damaged_copy_of_the_best_weights_is_made_anew(tmp_path: Path) -> None:
    checkpoints = best_at_20(tmp_path)
    copy = checkpoints.folder / "best-000000020"
    flip(copy / "encoder.safetensors")
    assert checkpoints.repair() == ()
    checkpoints.write(TrainingState("i", 50, 20), TrainingTensors(*[{"w": torch.zeros(3)}] * 3))
    flip(checkpoints.at(20) / "encoder.safetensors")
    assert "copy of its weights" in checkpoints.repair()[0]
    checkpoints.keep_only(20)
    assert [path.name for path in checkpoints.folder.iterdir()] == ["step-000000020"]


def test_a_checkpoint_of_an_older_version_is_read_and_damaged_weights_are_refused(tmp_path: Path) -> None:
    checkpoints, some = Checkpoints(tmp_path), {"w": torch.ones(3)}
    path = checkpoints.write(TrainingState("i", 10, 10, rows=7), TrainingTensors(some, some, some))
    values = json.loads((path / "state.json").read_text())
    (path / "state.json").write_text(json.dumps(values["state"]))
    assert checkpoints.repair() == ()
    assert read_state(path).rows == 7
    cut(path / "optimiser.safetensors")
    assert "truncated" in checkpoints.repair()[0]
    checkpoints, some = Checkpoints(tmp_path), {"w": torch.ones(3)}
    path = checkpoints.write(TrainingState("i", 10, 10), TrainingTensors(some, some, some))
    flip(path / "encoder.safetensors")
    with pytest.raises(StudioError, match=r"encoder\.safetensors"):
        read_tensors(path)


@pytest.fixture(scope="module")
def died(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that took its last step and died before it wrote its model. Copy before use."""

    class Died(Exception):
        pass

    def die(*_given: object) -> None:
        raise Died

    folder = tmp_path_factory.mktemp("died")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sbert_studio.training.trainer.write_artifacts", die)
        with pytest.raises(Died):
            train(SHORT, SHORT_ROWS, Told(), never, encoder=tiny_encoder(), folder=folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("harm", [None, flip])
def test_the_last_checkpoint_has_no_optimiser_and_is_gone_on_from(
    tmp_path: Path, whole_run: Path, died: Path, harm: Callable[[Path], object] | None
) -> None:
    folder = shutil.copytree(died, tmp_path / "run")
    newest = Checkpoints(folder).newest()
    assert newest is not None and not (newest / "optimiser.safetensors").exists()
    assert read_tensors(newest).optimiser == {}
    if harm is not None:
        harm(newest / "encoder.safetensors")
    started = resume(folder).of(Started)[0]
    assert (started.step == started.steps) is (harm is None)
    assert_same_model(folder, whole_run)


@pytest.mark.parametrize("text", ["", "[1]", '{"identity": 3}', '{"status": "finished"}', "null"])
def test_a_damaged_note_of_how_a_run_ended_counts_as_none(tmp_path: Path, text: str) -> None:
    from sbert_studio.training.trainer import read_outcome

    (tmp_path / "outcome.json").write_text(text)
    assert read_outcome(tmp_path, "i") is None
