"""Losses that sentence-transformers lacks, or computes on fewer inputs, against loops written from their papers' equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from sbert_studio.losses import Loss

from . import equations
from .batches import Batch, batch, make

BINARY = torch.tensor([0, 1, 1, 0, 1, 0, 0, 1, 1])
SCORED, LABELLED = batch("scored_pairs"), batch("labelled_pairs")
BINARY_PAIRS = Batch(LABELLED.columns, BINARY, LABELLED.ids)
Loop = Callable[[Sequence[Tensor]], Tensor]


def whole_angle(data: Batch, is_positive: list[bool]) -> Loop:
    def loop(columns: Sequence[Tensor]) -> Tensor:
        cosent, angle = equations.cosent(columns, data.targets), equations.angle(columns, data.targets)
        return 0.5 * cosent + 3 * equations.angle_in_batch(columns, is_positive) + angle

    return loop


CASES: dict[str, tuple[Loss, Batch, Loop]] = {
    "cosine, ordered classes": (make("cosine"), LABELLED, lambda columns: equations.cosine_regression(columns, LABELLED.targets / 2)),
    "cosine+cosent": (make("cosine+cosent"), SCORED, lambda columns: equations.combined(columns, SCORED.targets)),
    "cosine+cosent, w 2": (make("cosine+cosent", cosine_weight=2), SCORED, lambda columns: equations.combined(columns, SCORED.targets, 2)),
    "angle, three terms, scores": (
        make("angle", cosine_weight=0.5, in_batch_weight=3.0),
        SCORED,
        whole_angle(SCORED, [t >= 0.6 for t in (0, 0.75, 0.25, 1, 0.5, 0, 0.75, 0.25, 1)]),
    ),
    "angle, three terms, classes": (
        make("angle", cosine_weight=0.5, in_batch_weight=3.0),
        LABELLED,
        whole_angle(LABELLED, [t == 2 for t in (0, 2, 1) * 3]),
    ),
    "triplet, three negatives": (
        make("triplet", margin=0.5),
        batch("triplets", negatives=3),
        lambda columns: equations.triplet(columns, "euclidean", 0.5),
    ),
    "contrastive, scores": (make("contrastive"), SCORED, lambda columns: equations.contrastive(columns, SCORED.targets, "cosine", 0.5)),
    **{
        f"naive cosine, {name}": (
            make("naive_cosine", equation=name, labels=2),
            BINARY_PAIRS,
            lambda columns, name=name: equations.naive_cosine(columns, BINARY, name),
        )
        for name in ("linear", "squared", "threshold")
    },
}


@pytest.mark.parametrize("case", CASES)
def test_value_and_gradient_equal_the_equation(case: str) -> None:
    loss, data, loop = CASES[case]
    ours, theirs = data.leaves(), data.leaves()
    value, expected = loss(ours, data.targets, data.ids), loop(theirs)
    assert value.item() == pytest.approx(expected.item(), abs=1e-9)
    value.backward()
    expected.backward()
    for mine, other in zip(ours, theirs, strict=True):
        assert torch.allclose(mine.grad, other.grad, atol=1e-9, rtol=0)  # type: ignore[arg-type]


def test_angle_masks_equal_texts_as_false_negatives() -> None:
    data = batch("labelled_pairs", 4)
    # Row 0 is positive; row 1 pairs the same anchor with another positive, row 2 with a negative; row 3 repeats row 0's partner.
    ids = [torch.tensor([0, 0, 0, 3]), torch.tensor([10, 11, 12, 10])]
    targets = torch.tensor([1, 1, 0, 0])
    value = make("angle", labels=2, in_batch_weight=1.0)(data.columns, targets, ids) - make("angle", labels=2)(data.columns, targets)
    first, second = data.columns

    def term(anchor: int, candidates: tuple[int, ...]) -> Tensor:
        scores = {other: (20 * equations.cos(first[anchor], second[other])).exp() for other in candidates}
        return -(scores[anchor] / sum(scores.values())).log()

    assert value.item() == pytest.approx((term(0, (0, 2)) + term(1, (1, 2, 3))).item() / 2, abs=1e-9)


def test_angle_with_in_batch_negatives_without_a_positive_is_zero() -> None:
    loss = make("angle", labels=2, in_batch_weight=1.0)
    assert loss.in_batch and not make("angle").in_batch
    leaves = BINARY_PAIRS.leaves()
    value = loss(leaves, torch.zeros(9, dtype=torch.int64))
    value.backward()
    assert value.item() == 0 and all(bool((leaf.grad == 0).all()) for leaf in leaves)


def test_online_contrastive_ignores_pairs_exactly_as_far_as_the_other_kind() -> None:
    u = torch.eye(4, dtype=torch.float64)
    v = u.roll(1, 0)
    for targets, settings in (([0, 1, 0, 1], {}), ([1, 1, 1, 1], {}), ([0, 0, 0, 0], {"margin": 2.0})):
        assert make("online_contrastive", labels=2, **settings)([u, v], torch.tensor(targets)).item() == 0
