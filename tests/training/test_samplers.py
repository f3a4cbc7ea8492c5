from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sbert_studio.errors import StudioError
from sbert_studio.losses import build_loss
from sbert_studio.models.inference.batching import TokenRows
from sbert_studio.models.trainable import TextRows
from sbert_studio.training.advisor import advise
from sbert_studio.training.samplers import ClassBalancedSampler, LengthGroupedSampler, Schedule, build_sampler
from sbert_studio.training.spec import TrainSpec
from sbert_studio.training.trainer import train

from .test_advisor import MINILM
from .tiny import Told, labelled_texts, never, small_spec, tiny_encoder

RANDOM = np.random.default_rng(0)
LENGTHS = RANDOM.integers(3, 60, 1003)
IDS = np.stack([RANDOM.integers(0, 200, 1003), 200 + RANDOM.integers(0, 1003, 1003)])
# Uneven classes: one large, many of about twenty, some of a single row.
CLASSES = np.concatenate([np.zeros(300, np.int64), RANDOM.integers(1, 30, 600), np.arange(30, 35)])


@pytest.mark.parametrize("ids", [None, IDS])
def test_each_row_is_in_exactly_one_batch_and_little_of_it_is_padding(ids: np.ndarray | None) -> None:
    batches = LengthGroupedSampler(LENGTHS, 16, 12, ids).batches(3)
    assert sorted(np.concatenate(batches).tolist()) == list(range(1003))
    assert max(map(len, batches)) == 16
    assert len(batches) == LengthGroupedSampler(LENGTHS, 16, 12, ids).count(3)
    batches = LengthGroupedSampler(LENGTHS, 16, 12, ids).batches(0)
    padded = sum(len(batch) * LENGTHS[batch].max() for batch in batches)
    assert padded < 1.1 * LENGTHS.sum()


def test_no_text_is_twice_in_a_batch_and_one_anchor_gives_batches_of_one() -> None:
    for batch in LengthGroupedSampler(LENGTHS, 16, 12, IDS).batches(0):
        texts = IDS[:, batch].ravel().tolist()
        assert len(set(texts)) == len(texts)
    ids = np.stack([np.zeros(40, np.int64), 1 + np.arange(40)])
    assert [len(batch) for batch in LengthGroupedSampler(LENGTHS[:40], 8, 0, ids).batches(0)] == [1] * 40


@pytest.mark.parametrize("of_seed", [partial(LengthGroupedSampler, LENGTHS, 16), partial(ClassBalancedSampler, CLASSES, 16)])
def test_batches_are_a_function_of_seed_and_epoch(of_seed: Any) -> None:
    def flat(seed: int, epoch: int) -> list[int]:
        return np.concatenate(of_seed(seed).batches(epoch)).tolist()

    assert flat(1, 0) == flat(1, 0)
    assert flat(1, 0) != flat(1, 1)
    assert flat(1, 0) != flat(2, 0)


def test_a_last_batch_too_small_for_all_processes_joins_the_one_before() -> None:
    batches = LengthGroupedSampler(LENGTHS[:33], 16, 0, None, smallest=2).batches(0)
    assert sorted(map(len, batches)) == [16, 17]
    assert LengthGroupedSampler(LENGTHS[:33], 16, 0, None, smallest=2).count(0) == 2
    classes = np.repeat(np.arange(9), 4)
    assert sorted(map(len, ClassBalancedSampler(classes, 8, 0, together=4).batches(0))) == [8, 8, 8, 12], "a single class teaches nothing"
    two = np.repeat(np.arange(18), 2)
    assert sorted(map(len, ClassBalancedSampler(two, 16, 0).batches(0))) == [4, 16, 16]
    assert sorted(map(len, ClassBalancedSampler(two, 16, 0, smallest=5).batches(0))) == [16, 20]


def test_the_schedule_gives_each_step_its_batch_wherever_it_begins() -> None:
    schedule = Schedule.plan(LengthGroupedSampler(LENGTHS[:100], 16, 5), 2.5, 2)
    assert schedule.starts == (0, 7, 14, 18)
    assert schedule.evaluations == {3, 7, 10, 14, 17, 18}
    whole = [batch.tolist() for batch in schedule.batches(0)]
    assert len(whole) == schedule.steps == 18
    for step in (0, 1, 7, 10, 17, 18):
        assert [batch.tolist() for batch in schedule.batches(step)] == whole[step:]
    assert schedule.epoch_of(7) == 1.0
    assert schedule.epoch_of(18) == 2.5
    assert Schedule.plan(LengthGroupedSampler(LENGTHS[:10], 16, 5), 0.01, 1).steps == 1


def test_rounds_follow_one_another_and_never_repeat_an_order() -> None:
    schedule = Schedule.plan(LengthGroupedSampler(LENGTHS[:100], 16, 5), 1.5, 2, rounds=3)
    assert (schedule.ends, schedule.steps, schedule.epochs) == ((11, 22, 33), 33, 4.5)
    assert schedule.evaluations == {3, 7, 10, 11, 22, 33}
    assert [schedule.epoch_of(step) for step in (7, 11, 18, 22, 33)] == [1.0, 1.5, 2.5, 3.0, 4.5]
    orders = [[batch.tolist() for batch in schedule.batches(step)][:7] for step in (0, 11, 22)]
    assert orders[0] != orders[1] != orders[2]
    assert all(sorted(row for batch in order for row in batch) == list(range(100)) for order in orders)
    part = schedule.until(0.25)
    assert (part.steps, part.ends) == (8, (11, 22, 33))


class _Uneven:
    """Batches of an objective that lets no text stand twice in one: an epoch has one more, or one less, than another."""

    def __init__(self, *counts: int) -> None:
        self.counts = counts

    def count(self, epoch: int) -> int:
        return self.counts[epoch]

    def batches(self, epoch: int) -> list[np.ndarray]:
        return [np.array([place]) for place in range(self.counts[epoch])]


def test_a_share_chosen_in_other_rows_never_ends_a_step_into_the_next_round() -> None:
    """There the parameters have just been put back to where they began."""
    fold, whole = Schedule.plan(_Uneven(33, 34, 33), 1, 2, rounds=3), Schedule.plan(_Uneven(50, 50, 51), 1, 2, rounds=3)
    assert (fold.ends, whole.ends) == ((33, 67, 100), (50, 100, 151))
    assert [whole.until(end / fold.steps).steps for end in fold.ends] == [50, 100, 151]
    assert whole.until(16 / fold.steps).steps == 24


@pytest.mark.parametrize(
    ("name", "values", "mixed"),
    [
        ("cosent", {}, True),
        ("cosine+cosent", {}, True),
        ("online_contrastive", {}, True),
        ("angle", {}, True),
        ("angle", {"in_batch_weight": 1.0}, True),
        ("contrastive", {}, False),
        ("cosine", {}, False),
        ("in_batch", {}, False),
    ],
)
@pytest.mark.parametrize("widths", [(), (4,)])
def test_scores_that_are_ranked_in_a_batch_are_those_of_short_and_long_texts(
    name: str, values: dict[str, Any], mixed: bool, widths: tuple[int, ...]
) -> None:
    tokens = TokenRows.from_lists([[[1] * length for length in LENGTHS.tolist()]])
    rows = TextRows(np.stack([np.arange(1003), np.arange(1003)]), torch.rand(1003), 0, tokens)
    objective = build_loss(name, values, dim=8, matryoshka_dims=widths)
    batches = build_sampler(objective, rows, TrainSpec(loss=name, batch_size=16)).batches(0)
    spread = np.mean([LENGTHS[batch].std() for batch in batches]) / LENGTHS.std()
    assert (spread > 0.9) if mixed else (spread < 0.2)


@pytest.mark.parametrize("batch_size", [2, 16, 64])
def test_each_row_is_in_exactly_one_batch_class_sampler(batch_size: int) -> None:
    sampler = ClassBalancedSampler(CLASSES, batch_size, 12)
    batches = sampler.batches(3)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(CLASSES)))
    assert len(batches) == sampler.count(3)
    assert max(map(len, batches)) <= max(2 * batch_size - 1, batch_size + 4)
    assert len(batches) < 1.2 * len(CLASSES) / batch_size + 1 or batch_size == 2


def test_rows_have_siblings_and_others_beside_them_in_the_smallest_batch_too() -> None:
    for batch in ClassBalancedSampler(CLASSES, 32, 12).batches(0):
        counts = Counter(CLASSES[batch].tolist())
        assert len(counts) >= 2
        single = [name for name, count in counts.items() if count == 1]
        assert all((name >= 30) for name in single), "only a class of one row stands alone"
    classes = np.repeat(np.arange(30), 2)
    for batch in ClassBalancedSampler(classes, 4, 1).batches(0):
        assert len(set(classes[batch].tolist())) == 2
    sampler = ClassBalancedSampler(CLASSES, 32, 12)

    def meetings(epoch: int) -> set[tuple[int, int]]:
        return {
            (int(a), int(b)) for batch in sampler.batches(epoch) for a in batch for b in batch if a < b and CLASSES[a] == CLASSES[b] != 0
        }

    first, second = meetings(0), meetings(1)
    assert len(first & second) < 0.5 * len(first)


@pytest.mark.parametrize("batch_size", [2, 3])
def test_a_batch_without_room_for_two_categories_says_what_to_set(batch_size: int, tmp_path: Path) -> None:
    examples = labelled_texts(60)
    with pytest.raises(StudioError, match="too small for two texts") as caught:
        advise(examples, info=MINILM, overrides={"batch_size": batch_size})
    assert "4 or more" in caught.value.hint
    spec = small_spec(loss="supcon", batch_size=batch_size, evaluation="split")
    with pytest.raises(StudioError, match="too small for two texts"):
        train(spec, examples, Told(), never, encoder=tiny_encoder(), folder=tmp_path)
    assert advise(labelled_texts(20).take(np.arange(3)), info=MINILM).spec.batch_size == 4
