"""Batches put together ahead are those that would be put together when asked for."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from sbert_studio.models.trainable import TextRows
from sbert_studio.training import loop
from sbert_studio.training.events import Saved, Step, Throughput
from sbert_studio.training.steps import BatchPrefetcher
from sbert_studio.training.trainer import train

from .tiny import Told, never, scored_pairs, small_spec, tiny_encoder, weights

CPU = torch.device("cpu")


def test_the_inputs_are_the_same_whether_they_were_expected_or_not() -> None:
    rows = tiny_encoder().training_rows(scored_pairs(20))
    ahead, batch, other = BatchPrefetcher(rows, 2, CPU), np.asarray([3, 5, 11]), np.asarray([1, 2, 3])
    for expected in (batch, other, None):
        if expected is not None:
            ahead.expect(expected)
        for found in (ahead.inputs(batch), ahead.inputs(batch)):
            assert all(torch.equal(found[name], value) for name, value in rows.inputs(batch, 2, CPU).items())
    ahead.close()
    ahead.close()
    assert not any("next-batch" in thread.name for thread in threading.enumerate())


def test_a_failure_ahead_is_told_when_the_batch_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = tiny_encoder().training_rows(scored_pairs(20))
    ahead = BatchPrefetcher(rows, 1, CPU)
    ahead.expect(np.asarray([99]))
    with pytest.raises(IndexError):
        ahead.inputs(np.asarray([99]))
    ahead.close()


@pytest.mark.slow
@pytest.mark.parametrize("micro", [0, 3])
def test_a_training_prepares_each_batch_but_the_first_beside_the_one_before(
    micro: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tune(folder: Path) -> tuple[list[str], dict[str, torch.Tensor]]:
        threads, inputs = [], TextRows.inputs

        def noted(self: TextRows, rows: np.ndarray, views: int, device: torch.device) -> dict[str, torch.Tensor]:
            threads.append(threading.current_thread().name)
            return inputs(self, rows, views, device)

        with monkeypatch.context() as patch:
            patch.setattr(TextRows, "inputs", noted)
            spec = small_spec(epochs=1, micro_batch=micro, dev_fraction=0.0)
            train(spec, scored_pairs(64), Told(), never, encoder=tiny_encoder(), folder=folder)
        return threads, weights(folder / "model")

    threads, ahead = tune(tmp_path / "ahead")
    assert sum("next-batch" in name for name in threads) == 7  # of 8 steps
    assert len(threads) == (24 if micro else 8)  # none is put together in vain
    assert not any("next-batch" in thread.name for thread in threading.enumerate())
    monkeypatch.setattr(BatchPrefetcher, "expect", lambda *_: None)
    threads, plain = tune(tmp_path / "plain")
    assert not any("next-batch" in name for name in threads)
    assert all(torch.equal(ahead[name], value) for name, value in plain.items())


@pytest.mark.slow
def test_steps_that_are_queued_ahead_of_their_losses_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU: a step's loss is looked at once four more are queued, and all before what is judged, written or ended."""
    monkeypatch.setattr(Throughput, "is_due", lambda _: True)

    def tune(folder: Path) -> tuple[Told, dict[str, torch.Tensor]]:
        told = Told()
        train(small_spec(epochs=2, checkpoint_every=3), scored_pairs(40), told, never, encoder=tiny_encoder(), folder=folder)
        return told, weights(folder / "model")

    plain, expected = tune(tmp_path / "plain")
    monkeypatch.setattr(loop, "queue_depth", lambda _: 4)
    ahead, found = tune(tmp_path / "ahead")
    assert all(torch.equal(found[name], value) for name, value in expected.items())
    assert [(step.step, step.loss) for step in ahead.of(Step)] == [(step.step, step.loss) for step in plain.of(Step)]
    assert [type(event) for event in ahead if not isinstance(event, Step)] == [
        type(event) for event in plain if not isinstance(event, Step)
    ]
    for saved in ahead.of(Saved):
        before = ahead[: ahead.index(saved)]
        assert Told(before).of(Step)[-1].step == saved.step, "all that a checkpoint holds was looked at"
