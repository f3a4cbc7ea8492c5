"""What a training keeps in memory: the untuned weights stay in their file, and the optimiser's moments go once no step is left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from sbert_studio.errors import StudioError
from sbert_studio.evaluation.bootstrap import paired_gain
from sbert_studio.evaluation.report import describe_selection
from sbert_studio.training import events, loop
from sbert_studio.training.blend import ModelSoup, WeightBlend
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
from sbert_studio.training.evaluator import Candidates, Evaluator
from sbert_studio.training.events import Evaluated, Notice, Step
from sbert_studio.training.spec import TrainSpec
from sbert_studio.training.trainer import TrainingOutcome, train

from .tiny import Told, labelled_pairs, never, scored_pairs, small_spec, stops_after, tiny_encoder, weights

ROWS = 2_000_000  # 8 MB


def _mapped(folder: Path) -> dict[str, nn.Parameter]:
    save_file({"weight": torch.arange(ROWS, dtype=torch.float32)}, folder / "model.safetensors")
    return {"weight": nn.Parameter(load_file(folder / "model.safetensors")["weight"])}


def _read_of(address: int) -> int:
    """The bytes in memory of the mapping at this address."""
    found = inside = 0
    for line in Path("/proc/self/smaps").read_text().splitlines():
        words = line.split()
        if "-" in words[0] and not words[0].endswith(":"):
            low, high = (int(part, 16) for part in words[0].split("-"))
            inside = low <= address < high
        elif inside and words[0] == "Rss:":
            found = int(words[1]) * 1024
    return found


def test_weights_of_a_file_stay_in_it_until_a_blend_asks_for_them(tmp_path: Path) -> None:
    learning = _mapped(tmp_path)
    before = learning["weight"].data_ptr()
    learning["weight"].sum()
    assert _read_of(before) > ROWS * 3
    blend = WeightBlend(learning, keep_mapped=True)
    assert learning["weight"].data_ptr() != before
    assert _read_of(before) < ROWS
    with torch.no_grad():
        learning["weight"] += 2.0
    blend.set_tuned()
    for strength, more in ((0.0, 0.0), (1.0, 2.0)):
        blend.apply(strength)
        assert torch.equal(learning["weight"], torch.arange(ROWS, dtype=torch.float32) + more)


def test_weights_that_are_elsewhere_are_kept_as_they_were() -> None:
    learning = {"weight": nn.Parameter(torch.ones(3))}
    for aside in (False, True):
        blend = WeightBlend(learning, {"weight": torch.zeros(3)}, keep_mapped=aside)
        blend.set_tuned()
        blend.apply(0.0)
        assert learning["weight"].tolist() == [0, 0, 0]
        blend.apply(1.0)
        assert learning["weight"].tolist() == [1, 1, 1]


def test_a_file_that_is_written_to_meanwhile_is_told_and_no_blend_is_made_of_it(tmp_path: Path) -> None:
    blend = WeightBlend(_mapped(tmp_path), keep_mapped=True)
    blend.set_tuned()
    path = tmp_path / "model.safetensors"
    with path.open("r+b") as file:
        file.seek(-4, 2)
        file.write(b"\0\0\0\0")
    with pytest.raises(StudioError, match=r"model\.safetensors was written to while"):
        blend.set_tuned()
    path.unlink()  # another file in its place is no matter: what is mapped stays
    path.write_bytes(b"another")
    blend.set_tuned()


def test_the_mean_is_that_of_the_rounds_and_each_begins_where_the_first_did() -> None:
    layer = torch.nn.Linear(2, 2)
    named = {f"encoder.{name}": item for name, item in layer.named_parameters()}
    start = {name: item.detach().clone() for name, item in named.items()}
    soup = ModelSoup(named, (4, 8, 12))
    for end, added in ((4, 1.0), (8, 2.0), (12, 6.0)):
        assert soup.begins(end - 4) == (end > 4)
        for name, item in named.items():
            assert torch.equal(item, start[name])
        with torch.no_grad():
            for item in named.values():
                item.add_(added)
        soup.ended(end - 1)  # not yet
        soup.ended(end)
    for name, item in named.items():
        torch.testing.assert_close(item.detach(), start[name] + 3)


@pytest.mark.slow
@pytest.mark.parametrize("choices", [{}, {"method": "lora", "lora_dropout": 0.0}, {"loss": "softmax"}])
def test_rounds_that_are_the_same_training_end_as_one_of_them(tmp_path: Path, choices: dict[str, Any]) -> None:
    """Without dropout, and with all rows in each batch, no round differs from another: weights, moments and rate begin anew."""
    examples = labelled_pairs(16) if choices.get("loss") == "softmax" else scored_pairs(16)
    for soup in (1, 3):
        spec = small_spec(epochs=5, batch_size=16, dropout=0.0, dev_fraction=0, soup=soup, **choices)
        outcome = train(spec, examples, Told(), never, encoder=tiny_encoder(), folder=tmp_path / str(soup))
        assert outcome.steps == 5 * soup
    one, three = weights(tmp_path / "1" / "model"), weights(tmp_path / "3" / "model")
    untuned = dict(tiny_encoder().named_parameters())
    assert any(not torch.allclose(value, untuned[name].detach(), atol=1e-3) for name, value in _named_alike(one, untuned))
    for name, value in one.items():
        torch.testing.assert_close(three[name], value, atol=1e-5, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("differ", [0.0, 2.0])
def test_the_mean_gives_way_only_to_what_is_better_by_more_than_seeds_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, differ: float
) -> None:
    monkeypatch.setattr(loop, "_SEEDS_DIFFER", differ)
    told, spec = Told(), small_spec(epochs=4, soup=2, learning_rate=3e-3, warmup_ratio=0.6, evaluations_per_epoch=2, blend=False)
    outcome = train(spec, scored_pairs(64), told, never, encoder=tiny_encoder(), folder=tmp_path, dev=scored_pairs(60, 7))
    judged = told.of(Evaluated)[1:]
    best = max(judged, key=lambda event: event.score)
    assert best.step < judged[-1].step
    assert outcome.after["score"] == (best if differ == 0 else judged[-1]).score


@pytest.mark.slow
@pytest.mark.parametrize("stop_at", [0, 13])
def test_means_do_not_fall_step_by_step_below_an_earlier_evaluation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop_at: int) -> None:
    """Each mean is held against the best of all before it, not against a mean that was let through already; after a resume too."""
    found = [0.5, 0.9, 0.898, 0.896]  # of the untuned model, the first training, and the means of two and three
    left = iter(found)
    monkeypatch.setattr(events, "_SHOWN_EVERY", 0.0)
    monkeypatch.setattr(Evaluator, "__call__", lambda *_, **__: {"metric": "spearman", "score": next(left), "task": "sts", "rows": 60})
    spec, told, dev = small_spec(epochs=1, soup=3, blend=False), Told(), scored_pairs(20, 7)

    def stop() -> bool:
        return bool(stop_at and told.of(Step)) and told.of(Step)[-1].step >= stop_at

    outcome = train(spec, scored_pairs(40), told, stop, encoder=tiny_encoder(), folder=tmp_path, dev=dev)
    if stop_at:
        assert outcome.status == "stopped"
        outcome = train(spec, scored_pairs(40), told, never, encoder=tiny_encoder(), folder=tmp_path, dev=dev, resume=True)
    assert [event.score for event in told.of(Evaluated)] == found
    assert outcome.after["score"] == 0.898, "0.896 is worse than 0.9 by more than seeds differ"


def _named_alike(stored: dict[str, torch.Tensor], named: dict[str, Any]) -> list[tuple[str, torch.Tensor]]:
    """Stored weights under the names that the encoder gives them."""
    return [(own, value) for name, value in stored.items() for own in named if own.endswith(name)]


SPEC = small_spec(epochs=3, evaluations_per_epoch=2, checkpoint_every=3, learning_rate=1e-2, blend=False)
PAIRS, DEV = scored_pairs(40), scored_pairs(30, seed=7)


def tune(
    folder: Path, spec: TrainSpec = SPEC, stop_at: int | None = None, told: Told | None = None, *, resume: bool = False
) -> TrainingOutcome:
    should_stop = never if stop_at is None else stops_after(stop_at)
    return train(
        spec, PAIRS, Told() if told is None else told, should_stop, encoder=tiny_encoder(), folder=folder, dev=DEV, resume=resume
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
    assert "accounts for" in describe_selection(after)


def test_of_a_single_evaluation_the_interval_is_the_paired_bootstraps_and_of_blends_corrected(tmp_path: Path) -> None:
    after = tune(tmp_path, SPEC.replace(blend=True)).after
    kept = next(mark for mark in after["strengths"] if mark["strength"] == after["strength"] > 0)
    assert kept["gain_interval"] == after["gain_interval"]
    assert after["chosen_among"] == 10, "six evaluations, three blends and the untuned model"
    told = Told()
    after = dict(tune(tmp_path / "single", SPEC.replace(epochs=1, evaluations_per_epoch=1), told=told).after)
    assert after["chosen_among"] == 1 and describe_selection(after) == ""
    assert after["gain_interval"] == pytest.approx(told_by_itself(told, after), abs=1e-6)


@pytest.mark.parametrize("stop_at", [4, 11])
def test_a_resumed_training_ends_with_the_same_interval(tmp_path: Path, whole: tuple[dict[str, Any], Told], stop_at: int) -> None:
    assert tune(tmp_path, stop_at=stop_at).status == "stopped"
    assert tune(tmp_path, resume=True).after == whole[0]


def test_a_checkpoint_holds_the_evaluations_that_it_knows_of(tmp_path: Path) -> None:
    tune(tmp_path, stop_at=11)
    path = Checkpoints(tmp_path).newest()
    state, tensors = read_state(path), read_tensors(path)
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
    assert any("does not account for the selection of the checkpoint" in event.message for event in told.of(Notice))


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
