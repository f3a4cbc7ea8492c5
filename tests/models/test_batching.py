"""Batches of similar length, computed sequentially or in parallel."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from sbert_studio.models.base import EncodingStoppedError
from sbert_studio.models.inference import batching
from sbert_studio.models.inference.batching import TokenRows, token_batches, unique_texts
from sbert_studio.models.inference.machine import map_parallel, worker_count
from sbert_studio.models.transformer import TransformerEncoder

from .tiny import tiny_encoder

LENGTHS = st.lists(st.integers(0, 300), max_size=200)


@given(LENGTHS, st.integers(1, 1000), st.integers(1, 40))
@example([1] * 50, 1000, 7)
def test_every_row_is_in_one_batch_within_its_budget_and_the_longest_come_first(lengths: list[int], budget: int, most: int) -> None:
    batches = token_batches(np.array(lengths, np.int64), budget, most)
    rows = [row for batch in batches for row in batch]
    assert sorted(rows) == list(range(len(lengths)))
    assert [lengths[row] for row in rows] == sorted(lengths, reverse=True)
    for batch in batches:
        longest = max(lengths[row] for row in batch)
        assert len(batch) <= most
        assert len(batch) == 1 or len(batch) * longest <= budget


@given(st.lists(st.text(max_size=3), max_size=60))
def test_unique_texts_can_be_put_back(texts: list[str]) -> None:
    distinct, inverse = unique_texts(texts)
    assert len(set(distinct)) == len(distinct) <= len(texts)
    assert [distinct[number] for number in inverse] == texts
    assert distinct == sorted(distinct, key=texts.index)


@given(st.lists(st.lists(st.lists(st.integers(0, 30_000), max_size=6), max_size=5), max_size=4))
def test_token_rows_give_back_what_went_in(chunks: list[list[list[int]]]) -> None:
    rows = TokenRows.from_lists(chunks)
    lists = [row for chunk in chunks for row in chunk]
    assert len(rows) == len(lists)
    assert rows.lengths.tolist() == [len(row) for row in lists]
    if not lists:
        return
    chosen = np.arange(len(lists))[::-1]
    ids, mask = rows.padded(chosen, pad=-7)
    assert (mask is None) == (len({len(row) for row in lists}) == 1)
    for place, row in enumerate(chosen):
        real = len(lists[row])
        assert ids[place, :real].tolist() == lists[row]
        assert (ids[place, real:] == -7).all()
        if mask is not None:
            assert mask[place].tolist() == [1] * real + [0] * (ids.shape[1] - real)


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
    monkeypatch.setattr(TransformerEncoder, "parallel_batches", False)
    np.testing.assert_allclose(beside, encoder.encode(TEXTS), atol=1e-6)
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("small_batches")
def test_a_stop_is_heard_between_lanes() -> None:
    told: list[int] = []
    with pytest.raises(EncodingStoppedError):
        tiny_encoder().encode(TEXTS, progress=lambda done, total: told.append(done), should_stop=lambda: len(told) > 2)
    assert 2 < len(told) < 8


def test_an_error_in_a_lane_reaches_the_caller_and_few_batches_keep_to_one_lane() -> None:
    drawn: list[int] = []

    def items() -> Iterator[int]:
        for number in range(100):
            drawn.append(number)
            yield number

    def compute(number: int) -> torch.Tensor:
        assert not torch.is_grad_enabled()
        return torch.zeros(2, 3) @ torch.zeros(2) if number == 5 else torch.ones(1)

    found = map_parallel(compute, items(), 2)
    assert [float(next(found)) for _ in range(5)] == [1.0] * 5
    with pytest.raises(RuntimeError):
        next(found)
    assert len(drawn) < 12
    assert worker_count(torch.device("cpu"), 1) == 1
    assert worker_count(torch.device("cuda"), 10_000) == 1
