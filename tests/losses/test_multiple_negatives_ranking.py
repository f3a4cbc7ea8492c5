"""False negatives: a text that is right for an anchor is never held against it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sbert_studio.losses.base import KnownPositives
from sbert_studio.losses.multiple_negatives_ranking import false_negative_mask

from . import equations
from .batches import batch, make


def test_equal_texts_are_masked_and_nothing_else() -> None:
    #          row        0  1  2  3
    anchors = torch.tensor([1, 2, 1, 9])
    positives = torch.tensor([5, 6, 7, 5])
    negatives = torch.tensor([6, 1, 5, 8])
    expected = torch.tensor(
        [  # candidates: 5  6  7  5 | 6  1  5  8
            [0, 0, 1, 1, 0, 1, 1, 0],  # anchor 1, positive 5; 7 belongs to the same anchor
            [0, 0, 0, 0, 1, 0, 0, 0],  # anchor 2, positive 6
            [1, 0, 0, 0, 0, 1, 0, 0],  # anchor 1, positive 7; 5 in column 0 belongs to the same anchor
            [1, 0, 0, 0, 0, 0, 1, 0],  # anchor 9, positive 5
        ],
        dtype=torch.bool,
    )
    assert torch.equal(false_negative_mask([anchors, positives, negatives]), expected)


def test_the_exchanged_direction_masks_by_its_own_roles() -> None:
    """Row 1's positive is the text of row 0's anchor. Only anchor 0 and positive 1 may not be held against each other."""
    data = batch("positive_pairs", rows=3)
    data.ids[1][1] = data.ids[0][0]
    first, second = data.columns
    away = [[1], [], []], [[], [0], []]  # by direction and row: the candidates that are left out
    terms = []
    for (anchors, candidates), masked in zip(((first, second), (second, first)), away, strict=True):
        for row in range(3):
            scores = [(20 * equations.cos(anchors[row], candidates[j])).exp() for j in range(3) if j not in masked[row]]
            terms.append(-((20 * equations.cos(anchors[row], candidates[row])).exp() / sum(scores)).log())
    expected = equations.mean(terms[:3]) / 2 + equations.mean(terms[3:]) / 2
    assert make("in_batch", symmetric=True)(data.columns, None, data.ids).item() == pytest.approx(expected.item(), abs=1e-9)


@pytest.mark.parametrize("name", ["in_batch", "simcse"])
def test_a_batch_of_one_text_alone_costs_nothing(name: str) -> None:
    data = batch("sentences")
    same = [torch.zeros_like(column) for column in data.ids]
    leaves = data.leaves()
    loss = make(name)(leaves, None, same)
    loss.backward()
    assert loss.item() == 0
    assert all(torch.equal(leaf.grad, torch.zeros_like(leaf)) for leaf in leaves)


def test_a_known_positive_from_elsewhere_is_masked_and_nothing_else() -> None:
    """Rows (1, 5) and (2, 6) are the batch; (1, 6) is a row of the file too. 6 is then no negative of 1, nor is 1 one of 6."""
    relation = KnownPositives.from_rows(np.array([[1, 2, 1], [5, 6, 6]]))
    anchors, positives = torch.tensor([1, 2]), torch.tensor([5, 6])
    assert false_negative_mask([anchors, positives], relation).tolist() == [[False, True], [False, False]]
    assert false_negative_mask([positives, anchors], relation).tolist() == [[False, False], [True, False]]
    assert not false_negative_mask([anchors, positives]).any()


@pytest.mark.parametrize("name", ["in_batch", "simcse_supervised"])
def test_an_objective_that_knows_all_rows_leaves_their_positives_out(name: str) -> None:
    data = batch("positive_pairs", rows=4)
    objective = make(name)
    before = objective(data.columns, None, data.ids).item()
    rows = np.stack([ids.numpy() for ids in data.ids])
    objective.set_known_positives(KnownPositives.from_rows(rows))
    assert objective(data.columns, None, data.ids).item() == before, "the batch's own rows say nothing new"
    everything = np.stack([np.repeat(rows[0], 4), np.tile(rows[1], 4)])
    objective.set_known_positives(KnownPositives.from_rows(everything))
    assert objective(data.columns, None, data.ids).item() == pytest.approx(0), "where all belong together there is no negative"
    objective.set_known_positives(KnownPositives.from_rows(rows, np.zeros(4, np.int64)))
    assert objective(data.columns, None, data.ids).item() == pytest.approx(0), "and so it is within one class"
