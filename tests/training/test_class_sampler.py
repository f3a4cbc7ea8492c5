from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from sbert_studio.errors import StudioError
from sbert_studio.training.advisor import advise
from sbert_studio.training.samplers import ClassSampler
from sbert_studio.training.trainer import train

from .test_advisor import MINILM
from .tiny import Told, labelled_texts, never, small_spec, tiny_encoder

RANDOM = np.random.default_rng(0)
# Uneven classes: one large, many of about twenty, some of a single row.
CLASSES = np.concatenate([np.zeros(300, np.int64), RANDOM.integers(1, 30, 600), np.arange(30, 35)])


@pytest.mark.parametrize("batch_size", [2, 16, 64])
def test_each_row_is_in_exactly_one_batch(batch_size: int) -> None:
    sampler = ClassSampler(CLASSES, batch_size, 12)
    batches = sampler.batches(3)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(CLASSES)))
    assert len(batches) == sampler.count(3)
    assert max(map(len, batches)) <= max(2 * batch_size - 1, batch_size + 4)
    assert len(batches) < 1.2 * len(CLASSES) / batch_size + 1 or batch_size == 2


def test_rows_have_siblings_and_others_beside_them() -> None:
    for batch in ClassSampler(CLASSES, 32, 12).batches(0):
        counts = Counter(CLASSES[batch].tolist())
        assert len(counts) >= 2
        single = [name for name, count in counts.items() if count == 1]
        assert all((name >= 30) for name in single), "only a class of one row stands alone"


def test_the_rows_of_a_class_meet_others_in_the_next_epoch() -> None:
    sampler = ClassSampler(CLASSES, 32, 12)

    def meetings(epoch: int) -> set[tuple[int, int]]:
        return {
            (int(a), int(b)) for batch in sampler.batches(epoch) for a in batch for b in batch if a < b and CLASSES[a] == CLASSES[b] != 0
        }

    first, second = meetings(0), meetings(1)
    assert len(first & second) < 0.5 * len(first)


def test_batches_are_a_function_of_seed_and_epoch() -> None:
    def flat(seed: int, epoch: int) -> list[int]:
        return np.concatenate(ClassSampler(CLASSES, 16, seed).batches(epoch)).tolist()

    assert flat(1, 0) == flat(1, 0)
    assert flat(1, 0) != flat(1, 1)
    assert flat(1, 0) != flat(2, 0)


def test_a_last_batch_too_small_for_all_processes_joins_the_one_before() -> None:
    classes = np.repeat(np.arange(9), 4)
    assert sorted(map(len, ClassSampler(classes, 8, 0, together=4).batches(0))) == [8, 8, 8, 12], "a single class teaches nothing"
    two = np.repeat(np.arange(18), 2)
    assert sorted(map(len, ClassSampler(two, 16, 0).batches(0))) == [4, 16, 16]
    assert sorted(map(len, ClassSampler(two, 16, 0, smallest=5).batches(0))) == [16, 20]


def test_no_rows_make_no_batches() -> None:
    assert ClassSampler(np.empty(0, np.int64), 8, 0).batches(0) == []


@pytest.mark.parametrize("batch_size", [2, 3])
def test_a_batch_without_room_for_two_categories_says_what_to_set(batch_size: int, tmp_path: Path) -> None:
    examples = labelled_texts(60)
    with pytest.raises(StudioError, match="teach nothing") as caught:
        advise(examples, info=MINILM, overrides={"batch_size": batch_size})
    assert "4 or more" in caught.value.hint
    spec = small_spec(objective="supcon", batch_size=batch_size, judge="split")
    with pytest.raises(StudioError, match="teach nothing"):
        train(spec, examples, Told(), never, encoder=tiny_encoder(), folder=tmp_path)
    assert advise(labelled_texts(20).take(np.arange(3)), info=MINILM).spec.batch_size == 4


def test_the_smallest_batch_that_is_taken_holds_two_categories_wherever_it_can() -> None:
    classes = np.repeat(np.arange(30), 2)
    for batch in ClassSampler(classes, 4, 1).batches(0):
        assert len(set(classes[batch].tolist())) == 2
