"""A soup: trainings from the same weights, and the mean of what they end with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from sbert_studio.training import events, loop
from sbert_studio.training.blend import Soup
from sbert_studio.training.checkpoints import Checkpoints, read_tensors
from sbert_studio.training.evaluator import Evaluator
from sbert_studio.training.events import Evaluated, Started, Step, Stopped
from sbert_studio.training.trainer import train

from .tiny import Told, labelled_pairs, never, scored_pairs, small_spec, stops_after, tiny_encoder, weights


def test_the_mean_is_that_of_the_rounds_and_each_begins_where_the_first_did() -> None:
    layer = torch.nn.Linear(2, 2)
    named = {f"encoder.{name}": item for name, item in layer.named_parameters()}
    start = {name: item.detach().clone() for name, item in named.items()}
    soup = Soup(named, (4, 8, 12))
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
@pytest.mark.parametrize("choices", [{}, {"method": "lora", "lora_dropout": 0.0}, {"objective": "softmax"}])
def test_rounds_that_are_the_same_training_end_as_one_of_them(tmp_path: Path, choices: dict[str, Any]) -> None:
    """Without dropout, and with all rows in each batch, no round differs from another: weights, moments and rate begin anew."""
    examples = labelled_pairs(16) if choices.get("objective") == "softmax" else scored_pairs(16)
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
def test_later_rounds_are_judged_by_the_mean_at_their_ends(tmp_path: Path) -> None:
    told = Told()
    spec = small_spec(epochs=2, soup=3)
    train(spec, scored_pairs(24), told, never, encoder=tiny_encoder(), folder=tmp_path, dev=scored_pairs(40, 5))
    assert [event.step for event in told.of(Evaluated)] == [0, 3, 6, 12, 18]
    assert (told[0].steps, told[0].epochs) == (18, 6) and isinstance(told[0], Started)
    assert told.of(Step)[-1].epoch == 6


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


@pytest.mark.slow
def test_a_soup_that_is_stopped_and_resumed_ends_in_the_same_bits(tmp_path: Path) -> None:
    """Within a round, at its very end, and in the last one; the head began with what the untuned encoder knew."""
    spec, examples = small_spec(objective="softmax", epochs=1, soup=3, dev_fraction=0), labelled_pairs(40)
    train(spec, examples, Told(), never, encoder=tiny_encoder(), folder=tmp_path / "whole")
    place, reached = tmp_path / "parts", 0
    for stop_at in (7, 10, 13):
        told = Told()
        train(spec, examples, told, stops_after(stop_at - reached), encoder=tiny_encoder(), folder=place, resume=reached > 0)
        assert told.of(Started)[0].step == reached
        assert isinstance(told[-1], Stopped) and told[-1].steps == stop_at
        reached = stop_at
    again = Told()
    train(spec, examples, again, never, encoder=tiny_encoder(), folder=place, resume=True)
    assert again.of(Started)[0].step == reached and again[-1].steps == 15
    left, right = (read_tensors(newest, weights_only=True) for folder in ("whole", "parts") if (newest := _newest(tmp_path / folder)))
    for ours, theirs in ((left.encoder, right.encoder), (left.objective, right.objective)):
        assert ours.keys() == theirs.keys()
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def _newest(folder: Path) -> Path | None:
    return Checkpoints(folder).newest()


def _named_alike(stored: dict[str, torch.Tensor], named: dict[str, Any]) -> list[tuple[str, torch.Tensor]]:
    """Stored weights under the names that the encoder gives them."""
    return [(own, value) for name, value in stored.items() for own in named if own.endswith(name)]
