"""A damaged checkpoint is named and passed over; the run goes on from the one before it and ends as if nothing had happened."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from sbert_studio.errors import StudioError
from sbert_studio.training.checkpoint import Checkpoints, State, Tensors, read_state, read_tensors
from sbert_studio.training.events import Notice, Started
from sbert_studio.training.trainer import train

from .tiny import Told, never, scored_pairs, small_spec, tiny_encoder, weights

SPEC = small_spec(epochs=3, checkpoint_every=3, evaluations_per_epoch=2)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-9] ^= 4
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def remove(path: Path) -> None:
    path.unlink()


def change_a_number(path: Path) -> None:
    path.write_text(path.read_text().replace('"rows": ', '"rows": 1'))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, torch.Tensor]:
    """The weights of a run that was left alone."""
    folder = tmp_path_factory.mktemp("whole")
    train(SPEC, scored_pairs(), Told(), never, encoder=tiny_encoder(), folder=folder)
    return weights(folder / "model")


def stopped(folder: Path, steps: int = 13) -> Checkpoints:
    """A run that was stopped after ``steps`` steps."""
    asked = iter(range(steps))
    train(SPEC, scored_pairs(), Told(), lambda: next(asked, None) is None, encoder=tiny_encoder(), folder=folder)
    return Checkpoints(folder)


@pytest.mark.parametrize(
    ("name", "harm"),
    [
        ("encoder.safetensors", flip),
        ("encoder.safetensors", cut),
        ("optimiser.safetensors", flip),
        ("optimiser.safetensors", remove),
        ("objective.safetensors", empty),
        ("state.json", cut),
        ("state.json", remove),
        ("state.json", change_a_number),
    ],
)
def test_a_damaged_newest_checkpoint_gives_way_to_the_one_before(
    tmp_path: Path, whole: dict[str, torch.Tensor], name: str, harm: Callable[[Path], None]
) -> None:
    checkpoints = stopped(tmp_path)
    newest = checkpoints.newest()
    assert newest is not None
    harm(newest / name)
    told = Told()
    train(SPEC, scored_pairs(), told, never, encoder=tiny_encoder(), folder=tmp_path, resume=True)
    assert 0 < told.of(Started)[0].step < 13
    said = [event.message for event in told.of(Notice) if "damaged" in event.message]
    assert len(said) == 1 and "step 13" in said[0] and name in said[0]
    for key, weight in weights(tmp_path / "model").items():
        assert torch.equal(weight, whole[key]), key


def test_where_all_are_damaged_the_run_begins_anew_and_says_so(tmp_path: Path, whole: dict[str, torch.Tensor]) -> None:
    checkpoints = stopped(tmp_path)
    for path in checkpoints.folder.glob("step-*/encoder.safetensors"):
        flip(path)
    told = Told()
    train(SPEC, scored_pairs(), told, never, encoder=tiny_encoder(), folder=tmp_path, resume=True)
    assert told.of(Started)[0].step == 0
    assert any("begins anew" in event.message for event in told.of(Notice))
    for key, weight in weights(tmp_path / "model").items():
        assert torch.equal(weight, whole[key]), key


def test_two_checkpoints_are_kept_whole_and_the_best_of_each(tmp_path: Path) -> None:
    checkpoints, none = Checkpoints(tmp_path), {"w": torch.zeros(3)}
    for step, best in ((10, 10), (20, 10), (30, 10), (40, 40), (50, 40)):
        checkpoints.write(State("i", step, best), Tensors(none, none, none))
        whole = [path.name for path in sorted(checkpoints.folder.iterdir()) if (path / "optimiser.safetensors").is_file()]
        assert whole == [f"step-{one:09d}" for one in (10, 20, 30, 40, 50) if one <= step][-2:]
    assert {path.name for path in checkpoints.folder.iterdir()} == {"step-000000040", "step-000000050"}
    checkpoints.write(State("i", 60, 40), Tensors(none, none, none))
    assert not (checkpoints.at(40) / "optimiser.safetensors").exists()
    assert read_tensors(checkpoints.at(40), weights_only=True).encoder["w"].shape == (3,)


def test_a_checkpoint_whose_best_weights_are_damaged_is_not_gone_on_from(tmp_path: Path) -> None:
    checkpoints, some = Checkpoints(tmp_path), {"w": torch.zeros(3)}
    for step, best in ((10, 10), (20, 20), (30, 20), (40, 20)):
        checkpoints.write(State("i", step, best), Tensors(some, some, some))
    flip(checkpoints.at(20) / "encoder.safetensors")
    assert len(checkpoints.mend()) == 4
    assert checkpoints.newest() is None


def test_a_checkpoint_of_an_older_version_is_read(tmp_path: Path) -> None:
    checkpoints, some = Checkpoints(tmp_path), {"w": torch.ones(3)}
    path = checkpoints.write(State("i", 10, 10, rows=7), Tensors(some, some, some))
    values = json.loads((path / "state.json").read_text())
    (path / "state.json").write_text(json.dumps(values["state"]))
    assert checkpoints.mend() == ()
    assert read_state(path).rows == 7
    cut(path / "optimiser.safetensors")
    assert "cut short" in checkpoints.mend()[0]


def test_damaged_weights_are_refused_when_they_are_read(tmp_path: Path) -> None:
    checkpoints, some = Checkpoints(tmp_path), {"w": torch.ones(3)}
    path = checkpoints.write(State("i", 10, 10), Tensors(some, some, some))
    flip(path / "encoder.safetensors")
    with pytest.raises(StudioError, match=r"encoder\.safetensors"):
        read_tensors(path)


@pytest.mark.parametrize("text", ["", "[1]", '{"identity": 3}', '{"status": "finished"}', "null"])
def test_a_damaged_note_of_how_a_run_ended_counts_as_none(tmp_path: Path, text: str) -> None:
    from sbert_studio.training.trainer import read_outcome

    (tmp_path / "outcome.json").write_text(text)
    assert read_outcome(tmp_path, "i") is None
