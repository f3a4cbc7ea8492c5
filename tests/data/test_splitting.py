"""No sentence is on both sides of a split, whatever the data look like."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from leakage import leakage

from sbert_studio.data.examples import Examples, build_examples
from sbert_studio.data.loading.table import read_table
from sbert_studio.data.schema.inference import infer_roles
from sbert_studio.data.splits.splitting import components, folds, leaking, plain, split
from sbert_studio.errors import StudioError


def pairs(rows: list[tuple[str, str]], targets: list[float] | None = None, groups: list[str] | None = None) -> Examples:
    columns = tuple(zip(*rows, strict=True))
    values = None if targets is None else np.array(targets, dtype=np.float32)
    kind = "positive_pairs" if targets is None else "scored_pairs"
    return Examples(kind, columns, values, np.arange(2, len(rows) + 2), (), tuple(groups or ()))  # type: ignore[arg-type]


def labelled(rows: list[tuple[str, str]], ids: list[int]) -> Examples:
    labels = tuple(map(str, range(max(ids) + 1)))
    return Examples("labelled_pairs", tuple(zip(*rows, strict=True)), np.array(ids), np.arange(len(rows)), labels)


def distinct(count: int) -> list[tuple[str, str]]:
    return [(f"left {index}", f"right {index}") for index in range(count)]


def naive_components(examples: Examples) -> list[set[int]]:
    """Merge rows that share a text until nothing changes."""
    sets = [({index}, {plain(column[index]) for column in examples.texts}) for index in range(len(examples))]
    changed = True
    while changed:
        changed = False
        for first in range(len(sets)):
            for second in range(first + 1, len(sets)):
                if sets[first][1] & sets[second][1]:
                    rows, texts = sets.pop(second)
                    sets[first] = (sets[first][0] | rows, sets[first][1] | texts)
                    changed = True
                    break
            if changed:
                break
    return [rows for rows, _ in sets]


WORDS = st.sampled_from([f"Word {index}" for index in range(25)] + ["word 3", "WORD  4", " word 5"])
ROWS = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=40)


@given(ROWS)
def test_components_are_those_of_a_naive_merge(rows: list[tuple[str, str]]) -> None:
    examples = pairs(rows)
    found = components(examples)
    assert {frozenset(np.flatnonzero(found == one).tolist()) for one in set(found.tolist())} == set(
        map(frozenset, naive_components(examples))
    )


@given(ROWS, st.floats(0.05, 0.6), st.integers(0, 99))
def test_a_split_never_leaks_and_never_takes_a_row_twice(rows: list[tuple[str, str]], fraction: float, seed: int) -> None:
    examples = pairs(rows)
    try:
        train, dev = split(examples, fraction, seed)
    except StudioError as error:
        assert "hang together" in error.message
        return
    assert leakage(train, dev) == ()
    assert not leaking(train, dev).any()
    taken = [*train.lines.tolist(), *dev.lines.tolist()]
    assert len(set(taken)) == len(taken) >= 0.75 * len(rows)
    assert len(dev) <= max(1, 3 * round(fraction * len(rows)))
    assert len(train) > 0


@given(ROWS, st.integers(2, 5), st.integers(0, 99))
def test_folds_hold_out_each_row_once_and_never_leak(rows: list[tuple[str, str]], k: int, seed: int) -> None:
    examples = pairs(rows)
    if len(naive_components(examples)) < k:
        with pytest.raises(StudioError, match="too few"):
            folds(examples, k, seed)
        return
    parts = folds(examples, k, seed)
    assert len(parts) == k
    assert sorted(line for _, dev in parts for line in dev.lines.tolist()) == examples.lines.tolist()
    for train, dev in parts:
        assert len(dev) and len(train) + len(dev) == len(examples)
        assert leakage(train, dev) == ()


def test_the_same_seed_gives_the_same_split_and_another_seed_another() -> None:
    examples = pairs(distinct(200))
    first, again, other = (split(examples, 0.1, seed)[1].lines.tolist() for seed in (1, 1, 2))
    assert first == again != other
    assert len(first) == 20


def test_the_held_out_part_is_as_large_as_asked_and_bounded() -> None:
    examples = pairs(distinct(500))
    assert len(split(examples, 0.2)[1]) == 100
    assert len(split(examples, 0.2, max_dev=30)[1]) == 30
    train, dev = split(examples, 0.0)
    assert (len(train), len(dev)) == (500, 0)
    with pytest.raises(StudioError, match="between 0 and 1"):
        split(examples, 1.0)


def test_one_giant_component_is_cut_at_the_cost_of_few_rows() -> None:
    chain = pairs([(f"link {index}", f"link {index + 1}") for index in range(400)])
    train, dev = split(chain, 0.1)
    assert len(dev) >= 30
    assert len(train) + len(dev) >= 300
    assert leakage(train, dev) == ()


def test_a_giant_component_beside_small_ones_stays_in_training() -> None:
    star = [("the hub", f"spoke {index}") for index in range(300)]
    train, dev = split(pairs(star + distinct(100)), 0.1)
    assert len(dev) == 40
    assert "the hub" not in dev.texts[0]
    assert len(train) == 360


def test_rows_that_all_share_one_text_are_refused_with_advice() -> None:
    with pytest.raises(StudioError, match="hang together") as caught:
        split(pairs([("the hub", f"spoke {index}") for index in range(50)]))
    assert "held-out file" in caught.value.hint


def test_classes_are_held_out_in_proportion() -> None:
    examples = labelled(distinct(1000), [int(index % 10 == 0) for index in range(1000)])
    for seed in range(5):
        dev = split(examples, 0.1, seed)[1]
        assert dev.targets is not None
        assert np.bincount(dev.targets).tolist() == [90, 10]
    for _, dev in folds(examples, 4):
        assert dev.targets is not None
        assert np.bincount(dev.targets).tolist() == [225, 25]


def test_ranges_of_scores_are_held_out_in_proportion_when_asked() -> None:
    examples = pairs(distinct(1000), [index % 5 / 4 for index in range(1000)])
    dev = split(examples, 0.1, stratify=True)[1]
    assert dev.targets is not None
    assert Counter(dev.targets.tolist()) == dict.fromkeys((0.0, 0.25, 0.5, 0.75, 1.0), 20)


def test_a_split_by_group_keeps_each_topic_on_one_side() -> None:
    examples = pairs(distinct(200), groups=[f"topic {index % 20}" for index in range(200)])
    train, dev = split(examples, 0.1, groups=True)
    assert len(dev) == 20
    assert not set(train.groups) & set(dev.groups)
    for train, dev in folds(examples, 5, groups=True):
        assert not set(train.groups) & set(dev.groups)
    with pytest.raises(StudioError, match="no group column"):
        split(pairs(distinct(20)), groups=True)


def test_leaking_rows_are_found_whatever_their_case_and_side() -> None:
    train = pairs([("A dog runs.", "x"), ("y", "the  CAT sleeps."), ("z", "w")])
    dev = pairs([("the cat sleeps.", "a dog runs.")])
    assert leaking(train, dev).tolist() == [True, True, False]
    assert leakage(train, dev) == ()
    assert leakage(train, train) == ("A dog runs.", "x", "y", "the  CAT sleeps.", "z", "w")


@pytest.mark.parametrize("file", ["stsb/train.csv", "sick/train.csv", "snli/train.csv", "mrpc/train.csv", "sts12/SMTeuroparl.csv"])
def test_public_sets_split_without_leakage_at_the_size_asked_for(real_data: Path, file: str) -> None:
    table = read_table(real_data / file)
    examples, _ = build_examples(table, infer_roles(table))
    train, dev = split(examples, 0.1)
    assert leakage(train, dev) == ()
    assert 0.07 * len(examples) <= len(dev) <= 0.1 * len(examples) + 1
    assert len(train) + len(dev) == len(examples)
