from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from sbert_studio.models.inference.batching import TokenRows, token_batches, unique_texts

LENGTHS = st.lists(st.integers(0, 300), max_size=200)


@given(LENGTHS, st.integers(1, 1000), st.integers(1, 40))
@example([1] * 50, 1000, 7)
def test_every_row_is_in_one_batch_and_no_batch_is_over_its_budget(lengths: list[int], budget: int, most: int) -> None:
    batches = token_batches(np.array(lengths, np.int64), budget, most)
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        longest = max(lengths[row] for row in batch)
        assert len(batch) <= most
        assert len(batch) == 1 or len(batch) * longest <= budget


@given(LENGTHS.filter(bool))
def test_batches_run_from_the_longest_to_the_shortest(lengths: list[int]) -> None:
    in_order = [lengths[row] for batch in token_batches(np.array(lengths), 500, 16) for row in batch]
    assert in_order == sorted(lengths, reverse=True)


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
