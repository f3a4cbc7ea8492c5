"""Batches side by side: the same vectors, nobody else's threads touched, stops and errors heard."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from sbert_studio.models.base import EncodingStoppedError
from sbert_studio.models.inference import batching
from sbert_studio.models.inference.machine import in_lanes, lane_count
from sbert_studio.models.transformer import TransformerEncoder

from .tiny import tiny_encoder

TEXTS = [f"{'the ' * (number % 9)}cat number {number} sat on the mat" for number in range(200)]


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    monkeypatch.setattr(batching, "token_budget", lambda device: (128, 8))
    yield
    torch.set_num_threads(threads)


@pytest.mark.usefixtures("small_batches")
def test_lanes_give_the_vectors_that_one_batch_after_the_other_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = tiny_encoder()
    asked: list[str] = []
    forward = TransformerEncoder.forward
    monkeypatch.setattr(
        TransformerEncoder, "forward", lambda self, batch: (asked.append(threading.current_thread().name), forward(self, batch))[1]
    )
    beside = encoder.encode(TEXTS)
    assert len(set(asked)) == 2 and threading.current_thread().name not in asked
    monkeypatch.setattr(TransformerEncoder, "laned", False)
    np.testing.assert_allclose(beside, encoder.encode(TEXTS), atol=1e-6)
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("small_batches")
def test_a_stop_is_heard_between_lanes() -> None:
    told: list[int] = []
    with pytest.raises(EncodingStoppedError):
        tiny_encoder().encode(TEXTS, progress=lambda done, total: told.append(done), should_stop=lambda: len(told) > 2)
    assert 2 < len(told) < 8


def test_an_error_in_a_lane_reaches_the_caller_and_items_are_drawn_as_they_are_needed() -> None:
    drawn: list[int] = []

    def items() -> Iterator[int]:
        for number in range(100):
            drawn.append(number)
            yield number

    def compute(number: int) -> torch.Tensor:
        assert not torch.is_grad_enabled()
        return torch.zeros(2, 3) @ torch.zeros(2) if number == 5 else torch.ones(1)

    found = in_lanes(compute, items(), 2)
    assert [float(next(found)) for _ in range(5)] == [1.0] * 5
    with pytest.raises(RuntimeError):
        next(found)
    assert len(drawn) < 12


def test_few_batches_and_other_devices_keep_to_one_lane() -> None:
    assert lane_count(torch.device("cpu"), 1) == 1
    assert lane_count(torch.device("cuda"), 10_000) == 1
