"""No text is in both parts of a split, whatever the data look like."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from leakage import leakage

from sbert_studio.data.examples import Examples
from sbert_studio.data.split import cluster_rows, connected_rows, find_leaks, make_folds, normalize_text, split_examples
from sbert_studio.errors import StudioError

Rows = list[tuple[str, str]]


def pairs(rows: Rows, targets: list[float] | None = None, groups: list[str] | None = None) -> Examples:
    values = None if targets is None else np.array(targets, dtype=np.float32)
    kind = "positive_pairs" if targets is None else "scored_pairs"
    return Examples(kind, tuple(zip(*rows, strict=True)), values, np.arange(2, len(rows) + 2), (), tuple(groups or ()))  # type: ignore[arg-type]


def distinct(count: int) -> Rows:
    return [(f"left {index}", f"right {index}") for index in range(count)]


def naive_components(examples: Examples) -> set[frozenset[int]]:
    """Merge rows that share a text until nothing changes."""
    sets: list[tuple[set[int], set[str]]] = []
    for row, texts in enumerate(zip(*examples.texts, strict=True)):
        rows, merged = {row}, {normalize_text(text) for text in texts}
        for other in [one for one in sets if one[1] & merged]:
            sets.remove(other)
            rows, merged = rows | other[0], merged | other[1]
        sets.append((rows, merged))
    return {frozenset(rows) for rows, _ in sets}


WORDS = st.sampled_from([f"Word {index}" for index in range(25)] + ["word 3", "WORD  4", " word 5"])
ROWS = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=40)


@given(ROWS)
def test_components_are_those_of_a_naive_merge(rows: Rows) -> None:
    found = connected_rows(pairs(rows))
    assert {frozenset(np.flatnonzero(found == one).tolist()) for one in set(found.tolist())} == naive_components(pairs(rows))


@given(ROWS, st.floats(0.05, 0.6), st.integers(0, 99))
def test_a_split_never_leaks_and_never_uses_a_row_twice(rows: Rows, fraction: float, seed: int) -> None:
    try:
        train, dev = split_examples(pairs(rows), fraction, seed)
    except StudioError as error:
        assert "are connected" in error.message
        return
    assert leakage(train, dev) == () and not find_leaks(train, dev).any()
    used = [*train.lines.tolist(), *dev.lines.tolist()]
    assert len(set(used)) == len(used) >= 0.75 * len(rows)
    assert len(dev) <= max(1, 3 * round(fraction * len(rows))) and len(train) > 0


@given(ROWS, st.integers(2, 5), st.integers(0, 99))
def test_folds_hold_out_each_row_once_and_never_leak(rows: Rows, k: int, seed: int) -> None:
    examples = pairs(rows)
    if len(naive_components(examples)) < k:
        with pytest.raises(StudioError, match="too few"):
            make_folds(examples, k, seed)
        return
    parts = make_folds(examples, k, seed)
    assert len(parts) == k and sorted(line for _, dev in parts for line in dev.lines.tolist()) == examples.lines.tolist()
    for train, dev in parts:
        assert len(dev) and len(train) + len(dev) == len(examples) and leakage(train, dev) == ()


def test_seed_size_and_groups_of_a_split() -> None:
    examples = pairs(distinct(500))
    first, again, other = (split_examples(examples, 0.1, seed)[1].lines.tolist() for seed in (1, 1, 2))
    assert first == again != other
    assert len(first) == 50 and len(split_examples(examples, 0.2, max_dev=30)[1]) == 30
    assert [len(part) for part in split_examples(examples, 0.0)] == [500, 0]
    with pytest.raises(StudioError, match="between 0 and 1"):
        split_examples(examples, 1.0)
    examples = pairs(distinct(200), groups=[f"topic {index % 20}" for index in range(200)])
    splits = [split_examples(examples, 0.1, groups=True), *make_folds(examples, 5, groups=True)]
    assert len(splits[0][1]) == 20 and not any(set(train.groups) & set(dev.groups) for train, dev in splits)
    with pytest.raises(StudioError, match="no group column"):
        split_examples(pairs(distinct(20)), groups=True)


def test_a_giant_component_is_cut_if_it_must_be() -> None:
    chain = pairs([(f"link {index}", f"link {index + 1}") for index in range(400)])
    train, dev = split_examples(chain, 0.1)
    assert len(dev) >= 30 and len(train) + len(dev) >= 300 and leakage(train, dev) == ()
    star = [("the hub", f"spoke {index}") for index in range(300)]
    train, dev = split_examples(pairs(star + distinct(100)), 0.1)
    assert (len(train), len(dev)) == (360, 40) and "the hub" not in dev.texts[0], "small components suffice"
    with pytest.raises(StudioError, match="are connected") as caught:
        split_examples(pairs(star[:50]))
    assert "held-out file" in caught.value.hint


def test_classes_and_ranges_of_scores_are_held_out_in_proportion() -> None:
    columns = tuple(zip(*distinct(1000), strict=True))
    labelled = Examples("labelled_pairs", columns, np.arange(1000) % 10 // 9, np.arange(1000), ("0", "1"))
    for seed in range(5):
        dev = split_examples(labelled, 0.1, seed)[1]
        assert dev.targets is not None and np.bincount(dev.targets).tolist() == [90, 10]
    for _, dev in make_folds(labelled, 4):
        assert dev.targets is not None and np.bincount(dev.targets).tolist() == [225, 25]
    scored = pairs(distinct(1000), [index % 5 / 4 for index in range(1000)])
    dev = split_examples(scored, 0.1, stratify=True)[1]
    assert dev.targets is not None and Counter(dev.targets.tolist()) == dict.fromkeys((0.0, 0.25, 0.5, 0.75, 1.0), 20)


def test_leaks_are_found_in_any_column_and_long_chains_are_parted() -> None:
    train = pairs([("A dog runs.", "x"), ("y", "the  CAT sleeps."), ("z", "w")])
    dev = pairs([("the cat sleeps.", "a dog runs.")])
    assert find_leaks(train, dev).tolist() == [True, True, False]
    assert leakage(train, dev) == () and leakage(train, train) == ("A dog runs.", "x", "y", "the  CAT sleeps.", "z", "w")
    few = [*distinct(20), ("left 0", "other")]
    assert len(set(cluster_rows(list(zip(*few, strict=True))).tolist())) == 20
    chain = [(f"link {index}", f"link {index + 1}") for index in range(20)]
    assert len(set(cluster_rows(list(zip(*chain, chain[0], strict=True))).tolist())) == 20, "equal rows stay together"
